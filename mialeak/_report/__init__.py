"""Reports: their document, its text for the shell, its page for the screen and for paper."""
