"""What people see in Slack, as pure functions from values to JSON. Text of others goes in literally."""
