"""One module per command: `add_arguments(parser, argv)` and `run(options) -> ExitCode`."""
