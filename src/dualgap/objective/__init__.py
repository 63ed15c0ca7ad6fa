"""What a problem is asked for besides P: constants, the null model, separability, its file."""
