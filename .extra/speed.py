import sys; sys.path.insert(0,'/work/words/runs')
import time
from pathlib import Path
from perturb_measure import _groups
from equipoise.perturb import Caption,get_recipe,perturb_caption
g=_groups(Path('/work/shared/data'),False)
r=get_recipe('balanced')
def go(gs):
    n=0
    for im,t in gs:
        for k,x in enumerate(t): perturb_caption(r,Caption(x,tuple(o for j,o in enumerate(t) if j!=k))); n+=1
    return n
go(g[:40]); b=time.process_time(); n=go(g[40:240]); print(1000*(time.process_time()-b)/n)
