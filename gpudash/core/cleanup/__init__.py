"""What a cleanup would do to whom, and why: pure decisions (design §8)."""
