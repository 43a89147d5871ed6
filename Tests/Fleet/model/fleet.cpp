// SPDX-License-Identifier: MIT

// Explicit-state breadth-first model of the fleet protocol (docs/fleet-protocol.md). See README.md.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstdint>
#include <string>
#include <vector>
#include <map>
#include <functional>
using namespace std;
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
enum { STRICT, NOREVOKE, GSAME, GSIB, GLAST, GLASTN, KEEPS };
const char* MODES[] = {"strict","norevoke","gsame","gsib","glast","glastn","keeps"};
enum { LIVE, DEAD, OUT };
enum { NH = 3, NL = 3, NT = 10, NA = 15 };
// fixes (each = one change of the text)
enum { F_ORDER=1, F_PROVEN=2, F_AGE=4, F_VALUE=8, F_KEEP=16, F_502=32, F_RESTORE=64, F_ALARM=128, F_UNLOCK=256, F_LOGOUT=512, F_FIRST=1024, F_UNPROVEN=2048, F_REPAIRINT=4096, F_LATEFIRST=8192, F_SAME=16384, F_READON=32768, F_DOUBT=65536 };
const char* FN[] = {"order","proven","age","value","keep","502","restore","alarm","unlock","logout","first","unproven","repairint","latefirst","same","readon","doubt"};
struct Rec { u8 lin, gen, att, st, tok, unp, prov; };
struct Intent { u8 on, lin, gen, att, own, mod; u16 bef; };
struct Late { u8 on, lin, parent, att, tok; };
struct Etcd { Rec rt; u8 rtmod; Intent in; u8 lock; Late late[NL]; u8 rev; };
enum { IDLE, READ, READBACK, RESERVED, CHECKED, SENT, ANS200, ANSINV, ANS5XX, DEADTXN, SETTLE };
struct Host { u8 up, pc; Rec rec; u8 ob, olin, oparent, oatt, otok, orm, oim, oplaced; Rec R; u8 rm, im, just; Intent former; u8 att, fence, mim, atok, dec, net, ntok, natt, njust, ntimely, nans, natok, tardy; u16 bef; };
struct Tok { u8 used, dead, ph, child, fam; u16 sentBy; };
struct State { Etcd e, snap; Host h[NH]; Tok t[NT]; u8 nt, na, famrev, due, curLin, gout, settling, rst, rstPat, hasSnap;
  u8 bad, bSlow; u8 bDue, bCrash, bGone, bLose, bUnk, bLogin, bLogout, b502, bRestore, b5xx, bTardy, pad2; };
int H = 2, MODE = STRICT; u32 FIX = 0; bool RESTORE = false, ZOMBIE = false; u64 CAP = 12000000;
bool fx(u32 f) { return FIX & f; }
bool graceMode() { return MODE==GSAME||MODE==GSIB||MODE==GLAST||MODE==GLASTN; }
bool usable(const State& s, int t) { const Tok& k=s.t[t]; return !(s.famrev>>k.fam&1) && !k.dead && (!k.used || MODE==KEEPS); }
bool holds(const State& s, int t, int lin) { return s.t[t].fam==lin && usable(s,t); }
// where a usable token of the current login is: bit0 etcd rt, bit1 late, bit2 host disk, bit3 memory or on its way
int held(const State& s) {
  int r=0, L=s.curLin;
  if (s.e.rt.lin && s.e.rt.st!=OUT && holds(s,s.e.rt.tok,L)) r|=1;
  for (auto& l: s.e.late) if (l.on && holds(s,l.tok,L)) r|=2;
  for (int i=0;i<H;i++) { auto& h=s.h[i]; if (h.up==2) continue;
    if (h.rec.lin && h.rec.st!=OUT && holds(s,h.rec.tok,L)) r|=4;
    if (h.ob && holds(s,h.otok,L)) r|=4;
    if (h.up==1 && h.pc==ANS200 && holds(s,h.atok,L)) r|=8;
    if (h.up==1 && h.pc==SENT && h.net>=2 && h.nans==1 && holds(s,h.natok,L)) r|=8; }
  return r;
}
struct Edge { u8 act, host; };
enum Act { A_INIT,A_DUE,A_READ,A_RES_OK,A_RES_UNK,A_RES_LOST,A_RES_FAIL,A_RB,A_FENCE_T,A_LEASE,A_LEASE_P,A_CHECK,A_FENCED,A_FENCED_L,A_SEND,A_SRV,A_SRVPH,A_ANS,A_LOST_REQ,A_LOST_ANS,A_FLUSH,A_COMMIT,A_COMMIT_UNK,A_SETTLE_READ,A_SETTLE_DONE,A_SETTLE_LATE,A_SETTLE_DROP,A_SETTLE_REVOKE,A_INV_READ,A_DEAD,A_DEAD_FAIL,A_5XX,A_502,A_REL,A_SYNC,A_REPAIR,A_ADOPT,A_ERASE,A_CRASH,A_RESTART,A_GONE,A_PAT,A_OWNAGE,A_LOGIN,A_LOGOUT,A_LOGOUT_LATE,A_SNAP,A_RESTORE,A_SETTLED,A_RSTPAT,A_REPLACE,A_OBDROP,A_KILLED,A_5XXPROC,A_TARDY,A_CUT,NACT };
const char* AN[NACT] = {"init","access token due","reads etcd, decides to refresh","reserve txn ok","reserve txn committed, answer lost","reserve txn lost","reserve txn refused","reads back after unknown reserve","fence time passes","lease ends, lock vanishes","lease ends, holder paused with its answer","fence check passes (then pauses)","fence: too late, former intent restored","fence: too late, release txn lost","SENDS the refresh token","server acts on the request","grace clock moves","answer 200/invalid arrives","request lost, gives up (no answer)","answer lost, gives up (no answer)","flushes the answer to its disk","commit ok","commit done, answer lost","commit refused -> settle reads rt","settle: was committed","settle: puts late","settle: erases its answer","settle: REVOKES its answer","invalid_grant, reads late","commits status dead","dead txn refused","server answers 503, did nothing","gateway answers 502 after the server acted","5xx: restores former intent, deletes lock","adopts the newer record","repair: puts its record back","adopts a late answer","erases a spare","CRASH (disk stays)","restarts","DESTROYED","patience over","intent's own age passes G-H","LOGIN","LOGOUT","LOGOUT retried late","(snapshot taken)","RESTORE of the old snapshot","settle time over","patience after restore over","re-puts late after restore","forgets placed answer","alarm kills it on resume","5xx","the answer is slow: the lock's time will pass","gives up reading, the answer is on its way"};
bool isFault(u8 a) { switch(a){case A_RES_UNK:case A_RES_LOST:case A_LOST_REQ:case A_LOST_ANS:case A_COMMIT_UNK:case A_CRASH:case A_GONE:case A_LOGIN:case A_LOGOUT:case A_SNAP:case A_RESTORE:case A_502:case A_5XX:case A_FENCED_L:case A_DUE: case A_FENCE_T: case A_LEASE_P: case A_TARDY: return true;} return false; }
u64 hashS(const void* p, size_t n){ const u64* q=(const u64*)p; u64 h=0x9E3779B97F4A7C15ull; for(size_t i=0;i<n/8;i++){h^=q[i];h*=0xff51afd7ed558ccdull;h^=h>>32;} size_t r=n%8; if(r){u64 x=0;memcpy(&x,(const char*)p+n-r,r);h^=x;h*=0xc4ceb9fe1a85ec53ull;h^=h>>29;} return h; }
vector<State> S; vector<u32> par; vector<Edge> how; vector<u32> tab; u64 mask_;
vector<pair<u32,u32>> edges; map<string,u32> viol; map<string,u64> vcount; u64 actCount[NACT]; u64 rowCount[64];
const char* RN[64]={0};
void row(int i,const char*n){ rowCount[i]++; RN[i]=n; }
void canon(State& s) {  // rank-compress revisions when no restore can make them collide; drop what is not live any more
  for (int i=0;i<H;i++){ auto&h=s.h[i];
    if(!h.ob&&h.pc==IDLE) h.tardy=0;
    if(h.net==0){h.ntok=h.natt=h.njust=h.ntimely=h.nans=h.natok=0;}
    if(h.pc==IDLE||h.up!=1){ memset(&h.R,0,sizeof h.R); h.rm=h.im=h.just=0; memset(&h.former,0,sizeof h.former); h.fence=0;h.mim=0;h.atok=0;h.dec=0;h.bef=0; if(h.net==0) h.att=0; }
    if(!h.ob){h.olin=h.oparent=h.oatt=h.otok=h.orm=h.oim=h.oplaced=0;}
    if(h.up==2){ u8 n=h.net,a=h.ntok,b=h.natt,c=h.njust,d=h.ntimely; memset(&h,0,sizeof h); h.up=2; if(n==1){h.net=n;h.ntok=a;h.natt=b;h.njust=c;h.ntimely=d;} } }
  if(!s.e.in.on) memset(&s.e.in,0,sizeof(Intent));
  for(auto&l:s.e.late) if(!l.on) memset(&l,0,sizeof l);
  // sort late by attempt
  for(int i=0;i<NL;i++)for(int j=i+1;j<NL;j++) if((!s.e.late[i].on&&s.e.late[j].on)||(s.e.late[i].on&&s.e.late[j].on&&s.e.late[j].att<s.e.late[i].att)) swap(s.e.late[i],s.e.late[j]);
  // tokens nobody can send any more need no history; attempts are renumbered in order of appearance
  { u16 ref=1<<s.e.rt.tok; if(s.hasSnap) ref|=1<<s.snap.rt.tok; for(auto&l:s.e.late) if(l.on) ref|=1<<l.tok; if(s.hasSnap) for(auto&l:s.snap.late) if(l.on) ref|=1<<l.tok;
    for(int i=0;i<H;i++){auto&h=s.h[i]; ref|=1<<h.rec.tok; if(h.ob) ref|=1<<h.otok; if(h.pc!=IDLE) ref|=(1<<h.R.tok)|(1<<h.atok); if(h.net){ref|=1<<h.ntok; if(h.net>=2) ref|=1<<h.natok;} }
    for(int t=0;t<s.nt;t++) if(!(ref>>t&1)){s.t[t].sentBy=0; s.t[t].ph=0; if(s.t[t].used) s.t[t].ph=2;} }
  { u8 m[16]; memset(m,255,16); m[0]=0; u8 k=0; u16 keep=0; vector<u8*> v; 
    auto ad=[&](u8&x){ v.push_back(&x); };
    if(s.e.in.on) ad(s.e.in.att); ad(s.e.rt.att); u8 lk=s.e.lock?s.e.lock-1:0; ad(lk); for(auto&l:s.e.late) if(l.on) ad(l.att);
    if(s.hasSnap){ if(s.snap.in.on) ad(s.snap.in.att); ad(s.snap.rt.att); for(auto&l:s.snap.late) if(l.on) ad(l.att); }
    for(int i=0;i<H;i++){auto&h=s.h[i]; ad(h.rec.att); if(h.ob) ad(h.oatt); ad(h.R.att); if(h.former.on) ad(h.former.att); ad(h.att); if(h.net) ad(h.natt);}
    for(int t=0;t<s.nt;t++) keep|=s.t[t].sentBy;
    for(auto p:v) if(m[*p]==255) m[*p]=++k; for(int a=1;a<16;a++) if((keep>>a&1)&&m[a]==255) m[a]=++k;
    for(auto p:v) *p=m[*p]; if(s.e.lock) s.e.lock=lk+1;
    auto mk=[&](u16&b){ if(b==0xffff) return; u16 r=0; for(int a=0;a<16;a++) if((b>>a&1)&&m[a]!=255) r|=1<<m[a]; b=r; };
    if(s.e.in.on) mk(s.e.in.bef); if(s.hasSnap&&s.snap.in.on) mk(s.snap.in.bef); for(int i=0;i<H;i++){ mk(s.h[i].bef); if(s.h[i].former.on) mk(s.h[i].former.bef);} for(int t=0;t<s.nt;t++) mk(s.t[t].sentBy);
    s.na=k+1; }
  for(int i=0;i<NL;i++)for(int j=i+1;j<NL;j++) if(s.e.late[i].on&&s.e.late[j].on&&s.e.late[j].att<s.e.late[i].att) swap(s.e.late[i],s.e.late[j]);
  if(!RESTORE){ u8 used[256]={0}; vector<u8*> v; v.push_back(&s.e.rtmod); if(s.e.in.on)v.push_back(&s.e.in.mod);
    for(int i=0;i<H;i++){auto&h=s.h[i]; v.push_back(&h.rm);v.push_back(&h.im);v.push_back(&h.mim);v.push_back(&h.orm);v.push_back(&h.oim); if(h.former.on) v.push_back(&h.former.mod);}
    for(auto p:v) if(*p) used[*p]=1; u8 m[256]={0}; u8 k=0; for(int i=1;i<256;i++) if(used[i]) m[i]=++k; for(auto p:v) if(*p)*p=m[*p]; s.e.rev=k; }
}
vector<string> traceOf(u32 i);
void violate(const char* what, u32 idx) { vcount[what]++; if(!viol.count(what)) viol[what]=idx; }
u32 cur; vector<const char*> pend;
bool add(State n, u8 act, u8 host, const char* bad) {
  canon(n); u64 h=hashS(&n,sizeof n)&mask_;
  while(tab[h]!=~0u){ if(!memcmp(&S[tab[h]],&n,sizeof n)){ if(!isFault(act)) edges.push_back({cur,tab[h]}); actCount[act]++; if(bad) violate(bad,tab[h]); return false;} h=(h+1)&mask_; }
  u32 id=S.size(); tab[h]=id; S.push_back(n); par.push_back(cur); how.push_back({act,host}); actCount[act]++;
  if(!isFault(act)) edges.push_back({cur,id});
  if(bad) violate(bad,id);
  return true;
}
vector<bool> isBad;
void emit(const State& o, State n, u8 act, u8 host, const char* bad=nullptr) {
  // transition invariants
  bool restore = act==A_RESTORE, user = act==A_LOGIN||act==A_LOGOUT;
  if(!bad && !restore && !user && n.e.rt.lin==o.e.rt.lin && n.e.rt.gen<o.e.rt.gen) bad="I2 generation decreases";
  if(!bad && !user && !restore && o.gout && o.e.rt.st==OUT && o.e.rt.lin==o.curLin && !(n.e.rt.st==OUT&&n.e.rt.lin==o.curLin)) bad= "I4 logout undone";
  if(!bad && !user && !restore && !o.gout && o.e.rt.lin==o.curLin && n.e.rt.lin!=o.curLin) bad= o.rst?"I4 new login undone (after restore)":"I4 new login undone";
  if(!bad && !n.gout && !restore && !user) { int a=held(o), b=held(n);
    if(a && !b) switch(act){
      case A_LOST_REQ: case A_LOST_ANS: case A_CRASH: case A_GONE: case A_502: break;
      case A_SRV: { auto& q=o.h[host]; // the server revoked because of this request: excused if declared and patience was over
        if(q.njust!=2&&n.famrev!=o.famrev) bad = q.njust==1? "I3 replay 'inside the grace' was refused after it: family lost" : (o.rst? "I3 server ends the family: undeclared or early reuse (after restore)":"I3 server ends the family: undeclared or early reuse"); break; }
      case A_KILLED: break;
      case A_CUT: if(graceMode()&&o.t[o.h[host].ntok].ph==0) break; bad="I3 an answer that is on its way is not read"; break;
      default: bad="I3 the protocol itself drops the last copy of a live token"; } }
  if(bad){ static vector<const char*> lab; u8 k=0; for(;k<lab.size();k++) if(!strcmp(lab[k],bad)) break; if(k==lab.size()) lab.push_back(bad); n.bad=k+1; } bool isnew=add(n,act,host,bad);
  if(isnew) isBad.push_back(bad!=nullptr); else if(bad) ; 
}
int newTok(State& s,int fam){ if(s.nt>=NT) return -1; int i=s.nt++; memset(&s.t[i],0,sizeof(Tok)); s.t[i].fam=fam; return i; }
u64 cut=0;
bool cmpRecNewer(const Rec& a,const Rec& b){ // etcd's a is to be adopted by a host with b
  if(!b.lin) return a.lin; if(!a.lin) return false;
  if(a.lin!=b.lin) return fx(F_ORDER)? a.lin>b.lin : true;
  if(fx(F_ORDER)){ if(a.st==OUT||b.st==OUT) return a.st==OUT && (b.st!=OUT||a.gen!=b.gen||a.att!=b.att); if(a.gen==b.gen) return memcmp(&a,&b,sizeof a)!=0; }
  return a.gen>b.gen; }
bool cmpRepair(const Rec& a,const Rec& b){ // etcd's a must be repaired by a host with b
  if(!b.lin) return false; if(!a.lin) return true;
  if(a.lin!=b.lin) return fx(F_ORDER)&&a.lin<b.lin;
  if(fx(F_ORDER)&&(a.st==OUT||b.st==OUT)) return b.st==OUT&&a.st!=OUT;
  return a.gen<b.gen; }
bool eligible(const Rec& r,const Late& l){ if(l.lin!=r.lin||r.st==OUT) return false;
  if(r.st==LIVE) return r.gen==l.parent;
  return fx(F_PROVEN)? l.parent>=r.prov : r.gen<=l.parent+2; }
// some servers count the last answer alone: another host has sent the same token after it and is waited for
bool doubtful(const State& s,const Late& l){ const Intent& in=s.e.in; return fx(F_DOUBT)&&graceMode()&&in.on&&in.lin==s.e.rt.lin&&in.gen==s.e.rt.gen&&in.own<2&&(in.bef>>l.att&1); }
void putLate(State& s,const Late& l){ for(auto&x:s.e.late) if(x.on&&x.att==l.att) return; for(auto&x:s.e.late) if(!x.on){x=l;s.e.rev++;return;} cut++; }
bool intentMine(const State&s,u8 mod,u8 att){ return s.e.in.on && (fx(F_VALUE)? s.e.in.att==att : s.e.in.mod==mod); }
void unlock(State&s,u8 att){ if(!fx(F_UNLOCK)|| s.e.lock==att+1) { if(s.e.lock){s.e.lock=0; s.e.rev++;} } }
void release(State&s,Host&h){ if(intentMine(s,h.mim,h.att)){ s.e.rev++; if(h.former.on){ s.e.in=h.former; s.e.in.mod=s.e.rev;} else memset(&s.e.in,0,sizeof(Intent)); if(s.e.lock==h.att+1) s.e.lock=0; } s.t[h.R.tok].sentBy&=~(1<<h.att); h.pc=IDLE; }
void setRt(State&s,const Rec&r){ s.e.rt=r; s.e.rtmod=++s.e.rev; }
void expand(u32 idx) {
  cur=idx; const State o=S[idx];
  if(isBad[idx]) return;
  #define N State n=o
  // time
  if(o.bDue && !o.due && o.e.rt.st==LIVE && o.e.rt.lin) { N; n.due=1;n.bDue--; emit(o,n,A_DUE,0); }
  if(!o.due && o.e.rt.st==LIVE && !usable(o,o.e.rt.tok) && o.e.rt.lin==o.curLin) { N; n.due=1; emit(o,n,A_SETTLED,9); } // sooner or later it is used
  const Intent& in=o.e.in;
  bool inflight=false; if(in.on) for(int i=0;i<H;i++) if((o.h[i].net==1||o.h[i].net==3)&&o.h[i].natt==in.att) inflight=true; // nobody reads longer than the patience
  if(in.on && in.own<2 && !o.e.lock && !inflight && MODE!=KEEPS && (!graceMode()||o.t[o.e.rt.tok].ph>=1) && in.lin==o.e.rt.lin&&in.gen==o.e.rt.gen) { // who has just had a slow answer has to be paused for that long
    bool cost=false; for(int i=0;i<H;i++){ auto&h=o.h[i]; if(h.up==1&&h.tardy&&((h.pc!=IDLE&&h.att==in.att)||(h.ob&&!h.oplaced&&h.oatt==in.att))) cost=true; }
    if(!cost||o.bSlow){ N; n.e.in.own=2; if(cost) n.bSlow--; emit(o,n,A_PAT,0); } }
  if(in.on && in.own==0 && o.t[o.e.rt.tok].ph>=1 && in.bef && graceMode()) { N; n.e.in.own=1; emit(o,n,A_OWNAGE,0); }
  if(graceMode()) for(int t=0;t<o.nt;t++) if(o.t[t].sentBy||o.t[t].used||(in.on&&in.gen==o.e.rt.gen&&t==o.e.rt.tok)) {
    if(o.t[t].ph==0){ N; n.t[t].ph=1; if(n.e.in.on&&n.e.rt.tok==t&&n.e.in.own==0&&!n.e.in.bef) n.e.in.own=1; emit(o,n,A_SRVPH,t);}
    else if(o.t[t].ph==1){ bool w=false; for(int i=0;i<H;i++) if(o.h[i].net==1&&o.h[i].ntok==t&&o.h[i].ntimely) w=true; if(!w){ N; n.t[t].ph=2; emit(o,n,A_SRVPH,t);} } }
  if(o.e.lock){ int a=o.e.lock-1; bool can=true, cost=false; for(int i=0;i<H;i++) { if(o.h[i].net==1&&o.h[i].natt==a&&!ZOMBIE) can=false; if(o.h[i].up==1&&o.h[i].ob&&o.h[i].oatt==a) cost=true; } if(cost&&!o.bSlow) can=false; for(int i=0;i<H;i++) if(o.h[i].up==1&&o.h[i].pc!=IDLE&&o.h[i].pc!=READ&&o.h[i].pc!=SETTLE&&o.h[i].att==a&&!o.h[i].fence&&!(fx(F_READON)&&o.h[i].pc==SENT&&o.h[i].net==3)) can=false; if(can){ N; n.e.lock=0; n.e.rev++; if(cost) n.bSlow--; emit(o,n,cost?A_LEASE_P:A_LEASE,0);} }
  if(o.settling){ bool can=true; for(int i=0;i<H;i++) if(o.h[i].up==1&&(cmpRepair(o.e.rt,o.h[i].rec)||(o.h[i].ob&&!o.h[i].oplaced))) can=false; bool cost=false; if(fx(F_RESTORE)) for(int i=0;i<H;i++){ if(o.h[i].net==1) can=false; if(o.h[i].up==1&&(o.h[i].pc==SENT||o.h[i].pc>=ANS200||o.h[i].pc==READ||(o.h[i].ob&&!o.h[i].oplaced))) cost=true; } if(cost&&!o.bSlow) can=false; if(can){ N; n.settling=0; if(cost) n.bSlow--; if(fx(F_RESTORE)) for(int i=0;i<H;i++) if(n.h[i].up==1&&(n.h[i].pc==RESERVED||n.h[i].pc==READBACK||n.h[i].pc==CHECKED)) n.h[i].fence=1; emit(o,n,cost?A_LEASE_P:A_SETTLED,0);} }
  if(fx(F_RESTORE)&&o.rst==1&&!o.settling&&!o.rstPat){ N; n.rstPat=1; emit(o,n,A_RSTPAT,0); }
  if(RESTORE && !o.hasSnap && o.bRestore){ N; n.snap=o.e; n.snap.lock=0; n.hasSnap=1; emit(o,n,A_SNAP,0); }
  if(RESTORE && o.hasSnap && o.bRestore && o.e.rev!=o.snap.rev){ N; n.e=o.snap; n.bRestore--; memset(&n.snap,0,sizeof(Etcd)); n.rst=1; n.rstPat=0; n.settling=1; n.due=1; if(fx(F_VALUE)) for(int i=0;i<H;i++) if(n.h[i].pc==READ) n.h[i].pc=IDLE; emit(o,n,A_RESTORE,0); }
  for(int i=0;i<H;i++) { const Host& h=o.h[i];
    // the server acts
    if(h.net==1){ N; auto&g=n.h[i]; Tok&k=n.t[h.ntok]; int res=2, tk=0; bool full=false;
      if((n.famrev>>k.fam&1)||k.dead){ if(k.dead&&MODE==GLAST) n.famrev|=1<<k.fam; }
      else if(MODE==KEEPS){res=1;tk=h.ntok;}
      else if(!k.used){ int c=newTok(n,k.fam); if(c<0) full=true; else {Tok&k2=n.t[h.ntok]; k2.used=1;k2.child=c;res=1;tk=c;} }
      else { bool w=graceMode()&&k.ph<2;
        if(MODE==GSAME&&w&&!n.t[k.child].used){res=1;tk=k.child;}
        else if(MODE==GSIB&&w){int c=newTok(n,k.fam); if(c<0) full=true; else {res=1;tk=c;}}
        else if((MODE==GLAST||MODE==GLASTN)&&w&&!n.t[k.child].used){int c=newTok(n,k.fam); if(c<0) full=true; else {n.t[n.t[h.ntok].child].dead=1;n.t[h.ntok].child=c;res=1;tk=c;}}
        else if(MODE!=NOREVOKE&&MODE!=GLASTN) n.famrev|=1<<k.fam; }
      if(full) cut++; else {
        bool waiting=h.up==1&&h.pc==SENT&&h.att==h.natt;
        if(waiting){g.net=2;g.nans=res;g.natok=tk;} else g.net=0;
        emit(o,n,A_SRV,i);
        if(waiting&&o.b502&&res==1){ State m=n; auto&q=m.h[i]; m.b502--; q.net=0; if(fx(F_502)){unlock(m,h.att);q.pc=IDLE;} else q.pc=ANS5XX; emit(o,m,A_502,i);} }
      if(!(h.up==1&&h.pc==SENT&&h.att==h.natt)) { N; n.h[i].net=0; emit(o,n,A_LOST_REQ,i); } // an orphan may also never be processed
    }
    if(h.up==0){ N; n.h[i].up=1; n.h[i].pc=IDLE; emit(o,n,A_RESTART,i); continue; }
    if(h.up!=1) continue;
    // faults
    if(o.bCrash){ N; n.bCrash--; n.h[i].up=0; n.h[i].pc=IDLE; if(n.h[i].net>=2) n.h[i].net=0; emit(o,n,A_CRASH,i); }
    if(o.bGone){ int alive=0; for(int j=0;j<H;j++) alive+=o.h[j].up!=2; if(alive>1){ N; n.bGone--; n.h[i].up=2; if(n.h[i].net>=2) n.h[i].net=0; emit(o,n,A_GONE,i);} }
    if(h.pc!=IDLE&&h.pc!=READ&&h.pc!=SETTLE&&!h.fence&&o.bSlow){ N; n.bSlow--; n.h[i].fence=1; emit(o,n,A_FENCE_T,i); }
    const Rec& rt=o.e.rt;
    switch(h.pc){
    case IDLE: {
      // user
      if(o.bLogin && h.rec.lin){ N; n.bLogin--; int c; n.curLin++; if(n.curLin<8&&(c=newTok(n,n.curLin))>=0){ n.gout=0; Rec r={n.curLin,0,0,LIVE,(u8)c,0,0}; r.att=0; setRt(n,r); memset(&n.e.in,0,sizeof(Intent)); memset(n.e.late,0,sizeof n.e.late); n.h[i].rec=r; n.due=0; n.rst=0; emit(o,n,A_LOGIN,i);} }
      if(o.bLogout && h.rec.lin && !o.gout && h.rec.lin==o.curLin && h.rec.st!=OUT && !o.settling){ // text: no guard on gen, gen written = known gen + 1
        N; n.bLogout--; Rec r=h.rec; if(fx(F_LOGOUT)) r=rt; r.gen++; r.st=OUT; r.unp=0; r.att=0; setRt(n,r); memset(&n.e.in,0,sizeof(Intent)); memset(n.e.late,0,sizeof n.e.late); n.h[i].rec=r; n.gout=1; n.due=0;
        const char* b=nullptr; if(rt.lin==r.lin&&r.gen<=rt.gen) b=r.gen<rt.gen?"I2 logout writes a lower generation":nullptr;
        if(!(fx(F_LOGOUT)&&rt.lin!=o.curLin)) emit(o,n,A_LOGOUT,i,nullptr); (void)b; }
      // outbox
      if(h.ob && !h.oplaced){
        bool newer=fx(F_ORDER)&&(h.rec.lin>h.olin||(h.rec.lin==h.olin&&h.rec.st==OUT)); bool ok=!newer && rt.lin && o.e.rtmod==h.orm && intentMine(o,h.oim,h.oatt) && (!fx(F_VALUE)||(rt.lin==h.olin&&rt.gen==h.oparent));
        if(ok){ N; Rec r={h.olin,(u8)(h.oparent+1),h.oatt,LIVE,h.otok,0,h.oparent}; 
          const char*b=nullptr; if(rt.lin!=h.olin||rt.gen!=h.oparent) b="fencing: a late commit passes on a reused revision number (restore)"; else if(in.att!=h.oatt) b="fencing: a late commit passes on another attempt's intent (restore)";
          setRt(n,r); memset(&n.e.in,0,sizeof(Intent)); n.e.lock=0; n.due=0; n.rst=n.rst?2:0; n.rstPat=0; n.h[i].rec=r;
          State m=n; n.h[i].ob=0; emit(o,n,A_COMMIT,i,b);
          if(o.bUnk){ m.bUnk--; m.h[i].rec=h.rec; emit(o,m,A_COMMIT_UNK,i,b);} }
        else { N; auto&g=n.h[i]; g.pc=SETTLE; int d;
          if(newer) {d=3; row(17,"settle(new): own record is of a later login");}
          else if(rt.lin==h.olin&&rt.att==h.oatt&&rt.st==LIVE) {d=0; row(1,"settle: attempt == mine");}
          else if(fx(F_SAME)&&rt.lin==h.olin&&rt.tok==h.otok&&rt.gen>h.oparent&&MODE!=KEEPS) {d=0; row(16,"settle(new): same refresh token");}
          else if(rt.lin!=h.olin||rt.st==OUT){ if(fx(F_ORDER)&&rt.lin<h.olin){d=9;} else {d=3; row(2,"settle: other lineage or out");} }
          else if(rt.gen<h.oparent) {d=fx(F_ORDER)?9:1; row(3,"settle: rt.gen < parent (no row in the text)");}
          else if(rt.gen==h.oparent){d=1; row(4,"settle: rt.gen == parent -> late");}
          else if(rt.gen==h.oparent+1){d=1; row(rt.st==LIVE?5:6, rt.st==LIVE?"settle: gen == parent+1 live -> spare":"settle: gen == parent+1 dead -> rescue");}
          else if(fx(F_PROVEN)&&h.oparent>=rt.prov){d=1;row(7,"settle(new): gen > parent+1, not proven -> late");}
          else {d=2; row(8,"settle: gen > parent+1 -> erase");}
          if(d!=9){ g.dec=d; g.rm=o.e.rtmod; emit(o,n,A_SETTLE_READ,i);} } }
      if(h.ob && h.oplaced){ // F_KEEP
        bool isin=false; for(auto&l:o.e.late) if(l.on&&l.att==h.oatt) isin=true;
        if(rt.lin>h.olin||rt.st==OUT||(rt.lin==h.olin&&(rt.prov>h.oparent||rt.att==h.oatt))||(h.oplaced==2&&!isin&&!o.rst)) { N; n.h[i].ob=0; emit(o,n,A_OBDROP,i); }
        else if(!isin&&o.rst&&rt.lin==h.olin&&h.oplaced==1&&rt.gen>=h.oparent){ N; putLate(n,{1,h.olin,h.oparent,h.oatt,h.otok}); n.h[i].oplaced=2; emit(o,n,A_REPLACE,i);} }
      // adopt the record, repair
      if(cmpRecNewer(rt,h.rec)){ N; if(fx(F_ORDER)&&rt.lin==h.rec.lin&&rt.gen==h.rec.gen&&rt.att!=h.rec.att&&h.rec.st==LIVE&&rt.st!=OUT&&h.rec.gen&&rt.tok!=h.rec.tok){ putLate(n,{1,h.rec.lin,(u8)(h.rec.gen-1),h.rec.att,h.rec.tok}); row(18,"tie(new): own live record becomes a spare"); } n.h[i].rec=rt; emit(o,n,A_SYNC,i); }
      if(cmpRepair(rt,h.rec)){ N; setRt(n,h.rec); if(fx(F_REPAIRINT)&&in.on&&(in.lin!=h.rec.lin||in.gen!=h.rec.gen)) memset(&n.e.in,0,sizeof(Intent)); row(9,"repair"); emit(o,n,A_REPAIR,i); }
      bool stale=cmpRepair(rt,h.rec);
      if(!stale && rt.lin) for(int j=0;j<NL;j++){ const Late&l=o.e.late[j]; if(!l.on) continue;
        if(!o.e.lock && eligible(rt,l) && !doubtful(o,l) && !(fx(F_SAME)&&l.tok==rt.tok&&MODE!=KEEPS)){ N; Rec r={rt.lin,(u8)(rt.gen+1),l.att,LIVE,l.tok,(u8)(rt.st==DEAD||fx(F_UNPROVEN)),rt.prov}; setRt(n,r); n.e.late[j].on=0; memset(&n.e.in,0,sizeof(Intent)); n.due=0; n.h[i].rec=r; if(!fx(F_RESTORE)) n.rst=n.rst?2:0; row(rt.st==LIVE?10:11,rt.st==LIVE?"adopt late: live, gen == parent":"adopt late: rescue of a dead record"); emit(o,n,A_ADOPT,i);}
        bool old = l.lin!=rt.lin || (fx(F_SAME)&&l.tok==rt.tok&&MODE!=KEEPS) || (fx(F_PROVEN)? l.parent<rt.prov : (rt.st==LIVE&&!rt.unp&&rt.gen>l.parent+1));
        if(fx(F_ORDER)&&l.lin>rt.lin) old=false;
        if(old){ N; n.e.late[j].on=0; n.e.rev++; row(12,"erase a spare"); emit(o,n,A_ERASE,i);} }
      // refresh
      if(!h.ob||h.oplaced) if(rt.lin&&rt.st==LIVE&&(o.due||rt.unp)&&!stale&&!o.e.lock&&!o.settling&&h.net==0&&o.na<NA) {
        int just=-1; bool has=in.on&&in.lin==rt.lin&&in.gen==rt.gen; bool lateThere=false; for(auto&l:o.e.late) if(l.on&&eligible(rt,l)) lateThere=true;
        if(fx(F_RESTORE)&&o.rst==1&&MODE!=KEEPS) just=o.rstPat?2:-1;
        else if(!has) just=0;
        else if(MODE==KEEPS) just=3;
        else if(graceMode()&&(fx(F_FIRST)? o.t[rt.tok].ph==0 : in.own==0)) {just=1;row(13,"takeover: inside the grace");}
        else if(in.own==2) {just=2;row(14,"takeover: patience over");}
        if(fx(F_LATEFIRST)&&lateThere) just=-1;
        if(just>=0){ N; auto&g=n.h[i]; g.pc=READ; g.R=rt; g.rm=o.e.rtmod; g.im=in.on?in.mod:0; g.just=just; g.former=in; g.bef=has?(in.bef|1<<in.att):0; if(just==2&&fx(F_RESTORE)&&o.rst==1) g.bef=0xffff; if(!has) memset(&g.former,0,sizeof(Intent)); emit(o,n,A_READ,i);} }
      break; }
    case READ: {
      bool ok=o.e.rtmod==h.rm && (in.on?in.mod:0)==h.im && !o.e.lock && o.na<NA;
      bool lt=false; for(auto&l:o.e.late) if(l.on&&l.lin==h.R.lin&&l.parent==h.R.gen) lt=true;
      if(lt&&fx(F_LATEFIRST)) ok=false;
      if(ok){ N; auto&g=n.h[i]; g.dec=lt?7:0; int a=n.na++; n.e.rev++; n.e.lock=a+1; Intent x={1,h.R.lin,h.R.gen,(u8)a,0,n.e.rev,h.bef}; if(!graceMode()) x.own=1; else if(o.t[h.R.tok].ph>=1&&!h.bef) x.own=1; n.e.in=x; g.att=a; g.mim=n.e.rev; g.fence=0; g.pc=RESERVED; 
        const char*b=nullptr; if(o.e.rt.gen!=h.R.gen||o.e.rt.lin!=h.R.lin) b="fencing: a reserve passes on a reused revision number (restore)";
        emit(o,n,A_RES_OK,i,b);
        if(o.bUnk){ State m=n; m.bUnk--; m.h[i].pc=READBACK; emit(o,m,A_RES_UNK,i,b);} }
      else { N; n.h[i].pc=IDLE; emit(o,n,A_RES_FAIL,i); }
      break; }
    case READBACK: { N; auto&g=n.h[i]; if(o.e.lock==h.att+1){ g.pc=RESERVED; g.mim=in.mod; } else g.pc=IDLE; emit(o,n,A_RB,i); break; }
    case RESERVED: {
      bool late=h.fence; if(fx(F_AGE)&&h.just==1&&o.t[h.R.tok].ph>=1) late=true;
      if(late){ N; release(n,n.h[i]); emit(o,n,A_FENCED,i); if(o.bUnk){ State m=o; m.bUnk--; m.h[i].pc=IDLE; emit(o,m,A_FENCED_L,i);} }
      else if(!fx(F_ALARM)){ N; n.h[i].pc=CHECKED; emit(o,n,A_CHECK,i); }
      if(late||!fx(F_ALARM)) break; }
      // fall through: with the alarm, check and send are one step
    case CHECKED: { N; auto&g=n.h[i]; 
      if(fx(F_ALARM)&&h.fence) break;
      const char*b=nullptr; Tok&k=n.t[h.R.tok]; u16 others=k.sentBy&~(1<<h.att); if(others&~h.bef) b= o.rst?"I1 undeclared second send (after restore)":(h.fence?"I1 undeclared second send after the fence (pause between check and send)":"I1 undeclared second send");
      if(MODE==KEEPS) b=nullptr;
      int j=h.just; if(j==2&&h.dec==7) j=4;
      k.sentBy|=1<<h.att; g.pc=SENT; g.net=1; g.ntok=h.R.tok; g.natt=h.att; g.njust=j; g.ntimely=k.ph==0; emit(o,n,A_SEND,i,b); break; }
    case SENT:
      // The server acted in time and its answer takes longer than the lock: it may come at any later moment. Who reads no longer
      // than the lock is held gives up; who reads on does so only while another request of its own fits into the grace.
      if(h.net==2&&o.bTardy){ N; n.bTardy--; n.h[i].net=3; n.h[i].tardy=1; emit(o,n,A_TARDY,i); }
      if(h.net==3&&(!fx(F_READON)||(graceMode()&&o.t[h.ntok].ph==0))){ N; unlock(n,h.att); n.h[i].pc=IDLE; n.h[i].net=0; emit(o,n,A_CUT,i); }
      if(h.net>=2){ if(h.net==2||fx(F_READON)) { N; auto&g=n.h[i]; g.pc=h.nans==1?ANS200:ANSINV; g.atok=h.natok; g.net=0; emit(o,n,A_ANS,i);} 
        if(o.bLose){ N; n.bLose--; unlock(n,h.att); n.h[i].pc=IDLE; n.h[i].net=0; emit(o,n,A_LOST_ANS,i);} }
      else if(h.net==1){ if(o.bLose){ N; n.bLose--; unlock(n,h.att); n.h[i].pc=IDLE; n.h[i].net=0; emit(o,n,A_LOST_REQ,i);}
        if(o.b5xx){ N; n.b5xx--; n.h[i].net=0; n.h[i].pc=ANS5XX; n.t[h.R.tok].sentBy&=~(1<<h.att); emit(o,n,A_5XX,i);} }
      break;
    case ANS200: { N; auto&g=n.h[i]; g.ob=1; g.olin=h.R.lin; g.oparent=h.R.gen; g.oatt=h.att; g.otok=h.atok; g.orm=h.rm; g.oim=h.mim; g.oplaced=0; g.pc=IDLE; emit(o,n,A_FLUSH,i); break; }
    case ANSINV: { N; auto&g=n.h[i]; bool l=false; for(auto&x:o.e.late) if(x.on&&x.lin==h.R.lin&&(x.parent==h.R.gen||(fx(F_PROVEN)&&x.parent>=h.R.prov))) l=true;
      if(l&&!fx(F_PROVEN)){ row(15,"invalid_grant: late with parent == gen found"); unlock(n,h.att); g.pc=IDLE; } else g.pc=DEADTXN; emit(o,n,A_INV_READ,i); break; }
    case DEADTXN: { N; auto&g=n.h[i];
      if(o.e.rtmod==h.rm&&intentMine(o,h.mim,h.att)&&rt.lin==h.R.lin){ Rec r=h.R; r.gen++; r.st=DEAD; r.att=h.att; r.unp=0; setRt(n,r); memset(&n.e.in,0,sizeof(Intent)); n.e.lock=0; n.due=0; g.rec=r; g.pc=IDLE; n.rst=n.rst?2:0; emit(o,n,A_DEAD,i); }
      else { unlock(n,h.att); g.pc=IDLE; emit(o,n,A_DEAD_FAIL,i); } break; }
    case ANS5XX: { N; release(n,n.h[i]); if(o.t[h.R.tok].sentBy>>h.att&1){} 
        // a 502 was not "nothing done": the ghost remembers the send
        n.t[h.R.tok].sentBy=o.t[h.R.tok].sentBy; emit(o,n,A_REL,i); break; }
    case SETTLE: { N; auto&g=n.h[i]; g.pc=IDLE; const char*b=nullptr;
      if(h.dec==0){ g.ob=0; if(cmpRecNewer(rt,g.rec)) g.rec=rt; emit(o,n,A_SETTLE_DONE,i); }
      else if(h.dec==1){ if(fx(F_VALUE)&&o.e.rtmod!=h.rm){ g.pc=IDLE; emit(o,n,A_SETTLE_LATE,i); break; } // guarded: read again
        putLate(n,{1,h.olin,h.oparent,h.oatt,h.otok}); if(fx(F_KEEP)) g.oplaced=1; else g.ob=0; emit(o,n,A_SETTLE_LATE,i); }
      else if(h.dec==2){ g.ob=0; emit(o,n,A_SETTLE_DROP,i); }
      else { g.ob=0; if(h.olin==o.curLin&&!o.gout) b=o.rst?"I5 a token of the live login is revoked (after restore)":"I5 a token of the live login is revoked"; n.famrev|=1<<h.olin; emit(o,n,A_SETTLE_REVOKE,i,b); }
      break; }
    } }
}
string whereS(int m){ string s; if(m&1)s+="rt "; if(m&2)s+="late "; if(m&4)s+="disk "; if(m&8)s+="memory "; return s; }
bool good(const State& s, const char** why) {
  for(int i=0;i<H;i++){ auto&h=s.h[i]; if(h.up==2) continue; if(h.up!=1||h.pc!=IDLE||(h.ob&&!h.oplaced)){*why="stuck: host busy";return false;} }
  if(s.e.lock||(s.due&&s.e.rt.st==LIVE)||s.e.rt.unp){*why="stuck: refresh never completes";return false;}
  for(int i=0;i<H;i++){ auto&h=s.h[i]; if(h.up==2) continue; if(memcmp(&h.rec,&s.e.rt,sizeof(Rec))){*why="I6 a host never converges to etcd's record";return false;} }
  if(s.gout){ if(s.e.rt.st!=OUT||s.e.rt.lin!=s.curLin){*why=s.rst?"I4 logout undone for ever (after restore)":"I4 logout undone for ever";return false;} return true; }
  if(s.e.rt.lin!=s.curLin){*why=s.rst?"I4 new login lost for ever (after restore)":"I4 new login lost for ever";return false;}
  if(s.e.rt.st==LIVE&&usable(s,s.e.rt.tok)) return true;
  int m=held(s); if(m){ *why=s.e.rt.st==DEAD?"I3 declared dead for ever while a live token is kept":"I3 record useless for ever while a live token is kept"; return false; }
  if(s.e.rt.st==LIVE) {*why="stuck: useless record";return false;}
  return true; }
string recS(const Rec&r){ char b[80]; if(!r.lin) return "none"; snprintf(b,80,"L%d.g%d %s t%d%s",r.lin,r.gen,r.st==LIVE?"live":r.st==DEAD?"dead":"out",r.tok,r.unp?" unproven":""); return b; }
void printTrace(u32 id){ vector<u32> v; for(u32 i=id;i;i=par[i]) v.push_back(i); v.push_back(0);
  for(int i=v.size()-2;i>=0;i--){ auto&s=S[v[i]]; u8 a=how[v[i]].act; if(a==A_SNAP||a==A_SYNC){} 
    string who; if(a==A_DUE||a==A_PAT||a==A_OWNAGE||a==A_LEASE||a==A_LEASE_P||a==A_SNAP||a==A_RESTORE||a==A_SETTLED||a==A_RSTPAT||a==A_SRVPH) who="-"; else who=string(1,'A'+how[v[i]].host);
    string lt; for(auto&l:s.e.late) if(l.on){ char b[40]; snprintf(b,40," late(p%d t%d)",l.parent,l.tok); lt+=b; }
    char x[60]=""; if(s.e.in.on) snprintf(x,60," intent g%d.a%d own%d",s.e.in.gen,s.e.in.att,s.e.in.own);
    printf("    %2d %s %-46s | rt %s%s%s%s\n",(int)v.size()-1-i,who.c_str(),AN[a],recS(s.e.rt).c_str(),x,s.e.lock?" lock":"",lt.c_str()); } }
int main(int argc,char**argv){
  map<string,int> c={{"hosts",2},{"due",1},{"crash",0},{"gone",0},{"lose",0},{"unk",0},{"login",0},{"logout",0},{"b502",0},{"b5xx",0},{"slow",0},{"tardy",0},{"zombie",0},{"restore",0},{"cap",12}};
  string trace="all"; u32 fix=0; int quiet=0;
  for(int i=1;i<argc;i++){ string a=argv[i]; auto p=a.find('='); string k=a.substr(0,p),v=p==string::npos?"":a.substr(p+1);
    if(k=="mode"){ for(int m=0;m<7;m++) if(v==MODES[m]) MODE=m; }
    else if(k=="fix"){ if(v=="all") fix=0xffffffff&~F_UNPROVEN; else { size_t q=0; while(q<v.size()){ size_t e=v.find(',',q); if(e==string::npos)e=v.size(); string f=v.substr(q,e-q); bool neg=f[0]=='-'; if(neg) f=f.substr(1); if(f=="all") fix=0xffffffff; else for(int b=0;b<17;b++) if(f==FN[b]) { if(neg) fix&=~(1u<<b); else fix|=1u<<b; } q=e+1; } } }
    else if(k=="quiet") quiet=1; else c[k]=atoi(v.c_str()); }
  FIX=fix; H=c["hosts"]; RESTORE=c["restore"]>0; ZOMBIE=c["zombie"]; CAP=(u64)c["cap"]*1000000;
  u64 sz=1; while(sz<CAP*2) sz<<=1; tab.assign(sz,~0u); mask_=sz-1; S.reserve(CAP+1000000); par.reserve(CAP); how.reserve(CAP);
  State s; memset(&s,0,sizeof s); s.curLin=1; s.nt=1; s.t[0].fam=1; s.na=1; Rec r={1,1,0,LIVE,0,0,0}; s.e.rt=r; s.e.rev=1; s.e.rtmod=1; for(int i=0;i<H;i++){s.h[i].up=1;s.h[i].rec=r;}
  s.bDue=c["due"];s.bCrash=c["crash"];s.bGone=c["gone"];s.bLose=c["lose"];s.bUnk=c["unk"];s.bLogin=c["login"];s.bLogout=c["logout"];s.b502=c["b502"];s.bRestore=c["restore"];s.b5xx=c["b5xx"];s.bSlow=c["slow"];s.bTardy=c["tardy"];
  cur=0; add(s,A_INIT,0,nullptr); isBad.push_back(false); edges.clear();
  u64 i=0; for(;i<S.size()&&S.size()<CAP;i++){ expand(i); }
  bool complete=i==S.size(); u64 n=S.size(), done=i;
  // EF good over fault-free edges
  vector<u32> deg(n+1,0); for(auto&e:edges) deg[e.second+1]++; for(u64 k=0;k<n;k++) deg[k+1]+=deg[k]; vector<u32> rev(edges.size()); { vector<u32> pos(deg.begin(),deg.end()); for(auto&e:edges) rev[pos[e.second]++]=e.first; }
  vector<char> ok(n,0); vector<u32> st; const char*why; for(u64 k=0;k<n;k++) if(k>=done||isBad[k]||good(S[k],&why)){ ok[k]=1; st.push_back(k);} 
  while(!st.empty()){ u32 k=st.back(); st.pop_back(); for(u32 q=deg[k];q<deg[k+1];q++) if(!ok[rev[q]]){ok[rev[q]]=1;st.push_back(rev[q]);} }
  // stuck states: name the reason by the terminal one reached
  u64 stuck=0; vector<char> out(n,0); for(auto&e:edges) if(e.first!=e.second) out[e.first]=1;
  for(u64 k=0;k<done;k++) if(!ok[k]){ stuck++; if(!out[k]){ why="stuck"; good(S[k],&why); violate(why,k);} }
  if(stuck && viol.empty()) for(u64 k=0;k<done;k++) if(!ok[k]){ violate("livelock: no fault-free way to a good state",k); break; }
  printf("%s hosts=%d states=%zu edges=%zu %s depth-cut=%llu stuck=%llu violations:%zu\n",MODES[MODE],H,(size_t)n,edges.size(),complete?"COMPLETE":"capped",(unsigned long long)cut,(unsigned long long)stuck,viol.size());
  for(auto&v:viol){ int len=0; for(u32 q=v.second;q;q=par[q]) len++; printf("  [%d steps, %llu states] %s\n",len,(unsigned long long)vcount[v.first],v.first.c_str()); if(!quiet) printTrace(v.second); }
  if(getenv("ROWS")) { for(int q=0;q<64;q++) if(RN[q]) printf("  row %-50s %llu\n",RN[q],(unsigned long long)rowCount[q]); for(int q=0;q<NACT;q++) if(actCount[q]) printf("  act %-50s %llu\n",AN[q],(unsigned long long)actCount[q]); }
  return viol.size()?1:0; }
