"""The one exception that means: the user asked for something that cannot be done."""


class UsageError(ValueError):
    """Bad input from the user.

    Its message is one line that says what is wrong, what was expected and how to fix it. The
    command line prints that line and exits with code 2, without a traceback.
    """
