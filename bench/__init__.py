"""`make bench`: ratios measured in one interleaved run against a bare PTY reader, terminado and pexpect."""
