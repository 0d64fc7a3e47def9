"""Many runs as one leaderboard: groups that cannot be told apart, intervals, and what others reported beside it."""
