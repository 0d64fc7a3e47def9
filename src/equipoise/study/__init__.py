"""The human study: people rank the captions of a picture, or read pairs of texts, and their answers become numbers.

questions.py has Study and Question, who sees what in which order, and reads answers back; making.py draws a study from
Items, page.py writes the HTML file that asks, score.py counts.
"""
