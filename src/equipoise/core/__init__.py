"""What every folder needs: errors, files, plug-ins, statistics, run folders, the client of language-model servers."""
