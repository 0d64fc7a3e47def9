import sys,collections,random
sys.argv=['x','5','3000','none']
exec(open('/work/words/.extra/tune.py').read().replace('\nmain()\n','\n'))
from equipoise.perturb.operations.swap_attested import *
R=collections.Counter(); n=0; k=0
rng=random.Random(0)
for c in pool(5,3000):
    n+=1
    l=list(swap_attributes(c,(),rng))
    if l: k+=1
    for x in l:
        r=refusal(c,x)
        import re
        R[re.sub("'[^']*'",'_',r) if r else None]+=1
        if r and random.random()<.25: print(x.text,'|',r)
print(n,k,R)
