"""What happens when somebody writes, clicks or submits. Each commits one durable step; none waits for people or runs."""
