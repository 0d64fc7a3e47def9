import sys,collections
sys.argv=['x','5','1500','none']
exec(open('/work/words/.extra/tune.py').read().replace('\nmain()\n','\n'))
from equipoise.perturb.sources.lexicon import Lexicon
from equipoise.perturb.operations.replace import attested
L=Lexicon()
for target in ('object','action'):
    lack=collections.Counter(); ok=0; none=0; tot=0
    for c in pool(5,1500):
        l=list(L.contrasts(c,target)); tot+=1
        a=attested(c,l)
        if a: ok+=1; continue
        if target=='object':
            for p in c.phrases: 
                lack[c.units[p.head].lemma]+=1
        else:
            for i,u in enumerate(c.units):
                if u.kind=='verb': lack[(u.lemma, c.object_of(i) or (c.units[i+1].word if i+1<len(c.units) else '.'))]+=1
    print(target,ok/tot,lack.most_common(150))
