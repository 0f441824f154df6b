"""The version of the package: hatch, models and run folders read it here."""

__version__ = "0.2.0"
