"""How states are written to files and read again: `numgrad.save` and `numgrad.load` are made of these parts."""
