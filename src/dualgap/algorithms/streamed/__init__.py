"""Newton's method and working sets for data whose rows are not held: readings give sums.

A step reads the data once, or a few times, and nothing in a state has an entry for each row: z is
empty, and y stands for the slopes at a point (`streamed.sums.Slopes`).
"""
