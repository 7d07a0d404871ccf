"""The car racing simulator TORCS: unmodified, as Debian installs it, driven in lock step through a host of our own."""
