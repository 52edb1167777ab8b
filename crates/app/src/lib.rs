//! What a command line and a service both stand on: settings to agent, what is pending, the types of `--json`.
