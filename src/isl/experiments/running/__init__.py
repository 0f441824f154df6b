"""From a configuration and its seeds to finished run folders."""
