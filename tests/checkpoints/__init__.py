"""Does a run that is kept in a file end as it would have ended at once?"""
