"""What happens when somebody writes, clicks or submits. Each commits one durable step and waits for no run."""
