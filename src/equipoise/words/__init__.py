"""What benchmarks and perturb both need of English: parts of speech, and a or an."""
