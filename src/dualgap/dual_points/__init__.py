"""From any y to a dual point in floats: made feasible, refined, with bounds on its rounding."""
