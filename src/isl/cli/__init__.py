"""The command line: `main` finds a command's module, one module per command."""
