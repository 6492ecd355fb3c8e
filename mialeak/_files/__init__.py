"""Files: tables of every format that is read, and the states of objects."""
