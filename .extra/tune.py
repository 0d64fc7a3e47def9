import csv,random,sys,collections
sys.path.insert(0,'/work/words/runs')
from pathlib import Path
from caption_halves import flickr
from equipoise.perturb import Caption,get_recipe,perturb_caption
SH=Path('/work/shared/data')
what_=sys.argv[3]
def pool(seed,n):
    rng=random.Random(seed)
    rows=[Caption(" ".join(r["title"].split())) for r in csv.DictReader((SH/'negclip/valid_neg_clip.tsv').open(newline=''),delimiter='\t')]
    fl=[]
    for im,l in flickr(SH,True).items():
        l=[" ".join(t.split()) for t in l]
        k=rng.randrange(len(l)); fl.append(Caption(l[k],tuple(o for j,o in enumerate(l) if j!=k)))
    return rng.sample(rows,int(n*.75))+rng.sample(fl,n-int(n*.75)) if what_!='others' else rng.sample(fl,n)
from equipoise.perturb.english.evidence import doubts
from equipoise.perturb.english.forms import lemma_of
def mark(c,x):
    if x.kind!='negative': return ''
    pl=c.units_of(x.edit.span)
    d=list(doubts(c,*pl,lemma_of(x.edit.to,x.edit.target),x.edit.target)) if pl else []
    N['neg']+=1; N['?']+=bool(d)
    return '? ' if d else '  '
N=collections.Counter()
def main():
    seed,n,what=int(sys.argv[1]),int(sys.argv[2]),sys.argv[3]
    rec=get_recipe(sys.argv[4] if len(sys.argv)>4 else 'balanced')
    why=collections.Counter(); k=0
    for c in pool(seed,n):
        r=perturb_caption(rec,c)
        for x in (*r.positives,*r.negatives):
            e=x.edit; tag=f"{x.kind[:3]} {e.op} {e.target}"
            if what=='others' and e.by=='captions': print('     ',c.others)
            if what in tag or what=='all' or (what=='others' and e.by=='captions'):
                k+=1
                if e.op=='swap': print(f"{k:3} {tag[:14]:14} {c.text}\n{'':19}{x.text}")
                else:
                    s,t=e.span; print(f"{k:3} {mark(c,x)}{tag[:22]:22} {c.text[:s]}[{c.text[s:t]} => {e.to}]{c.text[t:]}")
        if what=='why':
            if not any(x.edit.op=='replace' and x.edit.target==sys.argv[5] for x in r.negatives):
                for x,reason in r.dropped:
                    if x.kind=='negative' and x.edit.target==sys.argv[5] and x.edit.op=='replace':
                        import re
                        why[re.sub(r"'[^']*'",'_',reason)]+=1
                        if random.random()<.03: print(c.text,'|',x.edit.source,'->',x.edit.to,'|',reason)
    print(why.most_common(12),N)
main()
