"""What any program needs, and nothing of questions: files, processes, progress, arguments."""
