import sys
from equipoise.perturb import Caption,get_recipe,perturb_caption
r=get_recipe('balanced')
for f in ('web','odd'):
    n=0
    for l in open(f'tests/data/own_{f}_captions.txt').read().splitlines():
        c=Caption(l); p=perturb_caption(r,c)
        if p.refused: print('--',l,'|',p.refused)
        for x in (*p.positives,*p.negatives):
            n+=1; e=x.edit; s,t=e.span
            print(x.kind[:3], f"{l[:s]}[{l[s:t]} => {x.text[s:len(x.text)-len(l)+t]}]{l[t:]}" if e.op=='replace' else f"{l} => {x.text}")
    print(f,n)
