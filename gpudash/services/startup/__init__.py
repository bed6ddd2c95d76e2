"""Start-ups over time: their logs, health URLs, signs of life, history and records."""
