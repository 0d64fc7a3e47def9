"""Used by every folder: errors, files, plug-ins, statistics, run folders, the client for language-model servers."""
