"""The human study: people rank the captions of a picture, or judge pairs of texts, and their answers become numbers.

questions.py: Study, Question, the order on each screen, reading answers. making.py draws a study from Items, page.py
writes the HTML page for annotators, score.py computes the numbers.
"""
