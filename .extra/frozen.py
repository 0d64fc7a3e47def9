import sys,re,collections
sys.path.insert(0,'/work/words/runs')
from pathlib import Path
from caption_halves import learning
C=collections.Counter()
for _,l in learning(Path('/work/shared/data')):
    for t in l:
        for m in re.finditer(r"(?=\b([a-z-]+) and (?:a |an |the |some |his |her )?([a-z-]+)\b)",t.lower()): C[m[1],m[2]]+=1
out=[(n,a,b,C[b,a]) for (a,b),n in C.items() if n>=6 and C[b,a]*5<=n]
for x in sorted(out,reverse=True)[:150]: print(*x,end='; ')
