import sys,collections,itertools,random
sys.argv=['x','5','1500','none']
exec(open('/work/words/.extra/tune.py').read().replace('\nmain()\n','\n'))
from equipoise.perturb.operations.swap_attested import *
W=collections.Counter(); R=collections.Counter(); ok=0; n=0; ex=[]
for c in pool(5,1500):
    n+=1; best=[]
    for a,b in itertools.combinations(c.phrases,2):
        w=unswappable(c,a,b)
        W[w]+=1
        if w is None:
            for whole in (True,False):
                sp=[(p.start if whole else p.head,p.end) for p in (a,b)]
                cand=swapped(c,sp[0],sp[1],'object'); r=refusal(c,cand)
                best.append(r)
                import re
                R[re.sub("'[^']*'",'_',r) if r else None]+=1
                if random.random()<.12: ex.append((cand.text,c.text,r))
    ok+=bool(best)
print(n,ok,W.most_common(),R.most_common())
for e in ex[:70]: print(*e,sep='\n    ')
