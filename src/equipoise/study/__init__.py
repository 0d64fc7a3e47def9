"""The human study: people rank the captions of a picture, or read pairs of texts, and their answers become numbers.

questions.py is the noun (Study, Question, what an answer is, and in which order somebody sees it), making.py draws one
from Items, store.py keeps the answers, server.py and page.py show it, importing.py takes answers that came by mail,
agreement.py and score.py count, exporting.py speaks to other annotation tools.
"""
