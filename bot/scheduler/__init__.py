"""What happens by itself. Start with `jobs`: the sweep over due timers, and the chores; `timer` wakes both."""
