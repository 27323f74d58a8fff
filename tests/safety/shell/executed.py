"""Lines that run a canary in a real shell: one on each line (see test_executed.py for the files that they find)."""

# The file `f` holds an expression with a command in a subscript.
ARITHMETIC = r"""
x=$(cat f); exit $((x))
x=$(cat f); y[x]=1
x=$(cat f); let x
x=$(cat f); RANDOM=$x
x=$(cat f); SRANDOM=$x
x=$(cat f); HISTCMD=$x
x=$(cat f); OPTIND=$x
x=$(cat f); DIRSTACK[x]=1
x=$(cat f); export RANDOM=$x
x=$(cat f); declare RANDOM=$x
x=$(cat f); read RANDOM <<< "$x"
read RANDOM < f
x=$(cat f); printf -v RANDOM %s "$x"
x=$(cat f); export OPTIND=$x
x=$(cat f); echo ${y:=$x} $((y))
echo ${y:=$(cat f)} $((y))
: ${y:=$(cat f)}; echo $((y))
: ${y=$(cat f)}; ((y))
x=$(cat f); coproc y { :; }; echo ${y[x]}
x=$(cat f); echo "${!x}"
x=$(cat f); declare -n y=x; echo $((y))
declare -n y=f; y=$(cat f); echo $((f))
x=$(cat f); typeset -n y=$x; echo $y
x=$(cat f); typeset -n y="$x"; echo $y
x=$(cat f); echo ${a[x]+1}
x=$(cat f); echo ${a[-x]}
x=$(cat f); a+=([x]=1)
x=$(cat f); declare -a a=([x]=1)
x=$(cat f); declare a[x]=1
x=$(cat f); declare 'a[x]=1'
x=$(cat f); typeset a[x]=1
x=$(cat f); a=1; unset a[x]
x=$(cat f); a=(1); unset a[x]
x=$(cat f); a=(1); unset 'a[x]'
x=$(cat f); a=(1); unset -v 'a[$x]'
x=$(cat f); a=(1); [[ -v a[x] ]]
x=$(cat f); a=(1); test -v 'a[x]'
x=$(cat f); sleep 0 & wait -n -p a[x]
x=$(cat f); sleep 0 & wait -n -p 'a[x]'
x=$(cat f); read 'a[x]' < f
x=$(cat f); printf -v 'a[x]' 1
x=$(cat f); exec {a[x]}< f
x=$(cat f); ls {a[x]}< f
x=$(cat f); echo $((a[x]))
x=$(cat f); echo hi > $((x))
x=$(cat f); case $((x)) in 1) ;; esac
x=$(cat f); case 1 in $((x))) ;; esac
x=$(cat f); case ${a[x]} in 1) ;; esac
x=$(cat f); for i in $((x)); do :; done
x=$(cat f); select i in $((x)); do break; done < f
x=$(cat f); f() { return $((x)); }; f
x=$(cat f); cat <<< "$((x))"
x=$(cat f); cat <<< "${a[x]}"
x=$(cat f); echo > "/dev/null${a[x]}"
x=$(cat f); y=([1]=$((x)))
x=$(cat f); echo ${y:-$((x))}
x=$(cat f); echo "${y:-${a[x]}}"
x=$(cat f); [[ a =~ $((x)) ]]
x=$(cat f); [[ a == ${a[x]} ]]
x=$(cat f); trap "echo $((x))" EXIT
x=$(cat f); echo $(( $(echo x) ))
x=$(cat f); y=$(echo x); echo $((y))
x=$(cat f); y=$(printf x); echo $((y))
x=$(cat f); y=x; z=y; echo $((z))
x=$(cat f); declare -i y; y+=x
x=$(cat f); declare -i y=1; y+=$x
x=$(cat f); declare -ia y; y[0]=x
x=$(cat f); declare -i y; for y in x; do :; done
x=$(cat f); declare -i y; read y <<< x
x=$(cat f); declare -i y; printf -v y %s x
x=$(cat f); declare -i y; : ${y:=x}
x=$(cat f); declare -i y; export y=x
x=$(cat f); declare -i y; mapfile -t y <<< x
x=$(cat f); declare -i y; read -a y <<< x
x=$(cat f); f() { local -i y=$1; }; f x
x=$(cat f); f() { local -i y; y=$1; }; f x
x=$(cat f); f() { echo $(($1)); }; f x
x=$(cat f); f() { ((y=$1)); }; f x
x=$(cat f); f() { [[ $1 -gt 0 ]]; }; f x
x=$(cat f); f() { let y=$1; }; f x
x=$(cat f); f() { echo ${a[$1]}; }; f x
x=$(cat f); set -- x; echo $(($1))
x=$(cat f); typeset -i y; y=x
x=$(cat f); declare -ri y=x
x=$(cat f); declare +x -i y=x
x=$(cat f); declare -gi y=x
x=$(cat f); declare -i y\=x
x=$(cat f); declare "-i" "y=x"
x=$(cat f); o=-i; declare $o y=x
x=$(cat f); command declare -i y=x
x=$(cat f); builtin declare -i y=x
x=$(cat f); builtin let x
x=$(cat f); command let x
x=$(cat f); builtin test -v 'a[x]'
x=$(cat f); builtin printf -v 'a[x]' 1
x=$(cat f); builtin read 'a[x]' < f
x=$(cat f); eval 'echo $((x))'
x=$(cat f); eval "echo \$((x))"
export x=$(cat f); bash -c 'echo $((x))'
export x=$(cat f); bash -c '((x))'
x=$(cat f) bash -c '((x))'
x=$(cat f) bash -c 'echo ${a[x]}'
env x="$(cat f)" bash -c '((x))'
bash -c 'echo $(($1))' _ "$(cat f)"
bash -c '[[ $1 -gt 0 ]]' _ "$(cat f)"
cat f | { read x; echo $((x)); }
cat f | (read x; ((x)))
{ read x; } < f; echo $((x))
exec < f; read x; echo $((x))
read x < <(cat f); echo $((x))
mapfile -t a < <(cat f); ((a[0]))
IFS= read -d '' x < f; ((x))
x=$(<f)1; ((x))
x=1+$(<f); ((x))
x+=$(<f); ((x))
x[0]=$(<f); ((x))
x[0]=$(<f); echo $((x[0]))
declare -A m=([k]=$(<f)); echo $((m[k]))
declare -A m; m[k]=$(<f); ((m[k]+=1))
y=$(( $(<f) ))
echo $(($(<f)))
echo $(( `<f` ))
(( `cat f` ))
echo "$(cat f)"; echo $((_))
: "$(cat f)"; echo $((_))
: "$(cat f)"; [[ $_ -gt 1 ]]
: "$(cat f)"; echo ${a[_]}
: "$(cat f)"; echo ${a[$_]}
REPLY=1; read < f; ((REPLY))
read < f; echo $((REPLY))
select x in 1; do ((REPLY)); break; done < f
[[ $(cat f) =~ (.*) ]]; echo $((BASH_REMATCH))
[[ $(cat f) =~ .* ]]; echo $((BASH_REMATCH[0]))
[[ $(cat f) =~ .* ]]; echo $((${BASH_REMATCH[0]}))
mapfile < f; echo $((MAPFILE))
mapfile -t < f; echo $((MAPFILE[0]))
getopts a: x -a "$(cat f)"; echo $((OPTARG))
coproc cat f; read x <&${COPROC[0]}; ((x))
PWD=$(cat f); echo $((PWD))
IFS=$(cat f); echo $((IFS))
BASH_ARGV0=$(cat f); echo $((BASH_ARGV0))
set -- "$(cat f)"; echo $((BASH_ARGV))
printf -v x %s "$(cat f)"; ((x))
time x=$(cat f); ((x))
x=$(cat f) eval '((x))'
x=$(cat f) let x
x=$(cat f) let y=x
x=$(cat f) declare -i y=x
x=$(cat f) printf -v 'a[x]' 1
x=$(cat f) [ -v 'a[x]' ]
x=$(cat f) read 'a[x]' < f
x=$(cat f); echo $[x]
x=$(cat f); echo $[$x+1]
x=`cat f`; echo $((x+1))
x=$(<f); echo $((x))
read -r x < f; (( x++ ))
IFS= read -r x < f; echo "$((x*2))"
mapfile -t a < f; echo $((a))
mapfile -t a < f; echo $((a[0]))
mapfile -t a < f; echo ${a[a]}
readarray a < f; (( a[0] > 1 ))
while read x; do echo $((x)); done < f
cat f | while read n; do (( n > 1 )); done
for ((i=$(cat f);i<3;i++)); do :; done
n=$(cat f); for ((i=0;i<n;i++)); do :; done
printf -v x %s "$(cat f)"; echo $((x))
x="$(cat f)"; ((y=x))
x="$(cat f)"; ((y+=x))
x="$(cat f)"; let y=x
x="$(cat f)"; let 'y=x+1'
x=$(head -1 f); let x++
x=$(cat f); declare -i y=$x
x=$(cat f); declare -i y; y=x
declare -i y; y=$(cat f)
declare -i y; read y < f
typeset -i y=$(cat f)
x=$(cat f); echo ${@:x}
x=$(cat f); echo ${@:1:x}
x=$(cat f); a[x]=1
x=$(cat f); a[$x]=1
x=$(cat f); a[x+1]=1
x=$(cat f); a=([x]=1)
x=$(cat f); a=([$x]=1)
a=([$(cat f)]=1)
declare -a a=([$(cat f)]=1)
x=$(cat f); read "a[$x]"
x=$(cat f); printf -v "a[$x]" 1
x=$(cat f); [[ -v a[x] ]]
x=$(cat f); test -v "a[x]"
x=$(cat f); [ -v "a[$x]" ]
x=$(cat f); [[ -v $x ]]
x=$(cat f); [[ 1 -lt x ]]
x=$(cat f); [[ x -eq 1 ]]
x=$(cat f); [[ $x -ne 0 ]]
x=$(cat f); [[ "$x" -ge 0 ]]
x=$(cat f); [[ 1 -gt $x && 1 ]]
[[ $(cat f) -gt 1 ]]
[[ $(<f) -gt 1 ]]
[[ 0 -lt $(head -1 f) ]]
[[ $(awk 1 f) -gt 1 ]]
(( $(cat f) ))
(( x = $(cat f) ))
echo $(( $(cat f) + 1 ))
echo ${arr[$(<f)]}
echo ${arr[$(cat f)+1]}
echo ${arr[`cat f`]}
echo "${arr[$(cat f)]:-x}"
echo ${!arr[$(cat f)]}
y=${arr[$(cat f)]}
x=$(cat f); echo ${!x}
x=$(cat f); declare -n r=$x; echo $r
x=$(cat f); declare "$x=1"
x=$(cat f); return $((x))
x=$(cat f); shift $((x))
x=$(cat f); ulimit -n $((x))
x=$(cat f); echo ${x@P}
x=$(cat f); echo "${x@P}"
PS4=$(cat f); set -x; ls
x=$(cat f); if ((x)); then :; fi
x=$(cat f); while ((x--)); do :; done
x=$(cat f); until ((x)); do break; done
x=$(cat f); echo {1..$((x))}
x=$(cat f); cat <<< $((x))
x=$(cat f); ls > /dev/null$((x))
x=$(cat f); exec 3<&$((x))
x=$(cat f); echo $((1?x:2))
x=$(cat f); echo $((!x))
x=$(cat f); echo $((~x))
x=$(cat f); echo $((y,x))
x=$(cat f); y=x; echo $((y))
x=$(cat f); y=$x; echo $((y))
x=$(cat f); z=y; y=x; echo $((z))
x=1; x=$(cat f); echo $((x))
x=1; f() { x=$(cat f); }; f; echo $((x))
f() { echo $(($1)); }; f "$(cat f)"
wc() { cat f; }; echo $(( $(wc -l) ))
n=$(date +"$(cat f)"); echo $((n))
n=$(expr "$(cat f)"); echo $((n))
OPTIND=$(cat f); echo $((OPTIND))
RANDOM=$(cat f); echo $((RANDOM))
unset RANDOM; RANDOM=$(cat f); echo $((RANDOM))
HISTCMD=$(cat f)
unset SECONDS; read SECONDS < f; echo $((SECONDS))
declare -A m; x=$(cat f); let "m[$x]++"
declare -A m; x=$(cat f); unset -v "m[$x]"
"""

# The same, in zsh only.
ARITHMETIC_ZSH = r"""
x=$(cat f); read -t $x y < f
x=$(cat f); read -n $x y < f
x=$(cat f); export 'a[x]=1'
x=$(cat f); getopts a 'a[x]' -a
x=$(cat f); export "$x"
x=$(cat f); local $x
x=$(cat f); read $x <<< 1
x=$(cat f); printf -v $x hi
declare -A m; x=$(cat f); echo $((m[$x]))
declare -A m; x=$(cat f); ((m[$x]++))
declare -A m; x=$(cat f); [[ -v m[$x] ]]
"""

# `b` is a planted repository, `home` and `xdg` hold a configuration for git.
REPOSITORY = r"""
cd b && git status
cd b; git diff
pushd b && git status
pushd b >/dev/null && git diff
(cd b; git status)
{ cd b; git status; }
cd ./b && git diff HEAD
cd src/../b && git status
cd "$(echo b)" && git status
cd $(cat where) && git status
cd "$(cat where)"; git status
OLDPWD=$PWD/b; cd -; git status
git -C b status
git -C b diff
git -C ./b/. status
git -C . -C b status
git -C "$(cat where)" status
git --git-dir=b --work-tree=. status
git --git-dir b --work-tree . status
GIT_DIR=b GIT_WORK_TREE=. git status
export GIT_DIR=b GIT_WORK_TREE=.; git status
env -C b git status
env --chdir=b git status
env GIT_DIR=b GIT_WORK_TREE=. git status
find b -maxdepth 1 -name HEAD -execdir git status \;
find . -name HEAD -execdir git status \;
find . -type d -exec git -C {} status \;
echo b | xargs -I{} git -C {} status
sh -c 'cd b && git status'
bash -c 'cd b; git status'
bash -c 'git -C $1 status' _ b
for d in */; do git -C $d status; done
for d in */; do (cd "$d" && git status); done
while read d; do git -C "$d" status; done < where
while read d; do cd "$d"; git status; done < where
f() { cd b; }; f; git status
f() { cd "$1"; }; f b; git status
eval 'cd b'; git status
x=b; cd $x; git status
cd b & cd b; git status
if cd b; then git status; fi
cd b | true; cd b; git status
git -c core.fsmonitor='touch hit' status
git -c core.fsmonitor='touch hit' diff
HOME=$PWD/home git status
HOME=home; git status
export HOME=$PWD/home; git status
env HOME=home git status
XDG_CONFIG_HOME=$PWD/xdg git status
env XDG_CONFIG_HOME=xdg git status
GIT_CONFIG_GLOBAL=home/.gitconfig git status
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='touch hit' git status
GIT_CONFIG_PARAMETERS="'core.fsmonitor=touch hit'" git status
: ${HOME:=x}; : "${XDG_CONFIG_HOME:=$PWD/xdg}"; export XDG_CONFIG_HOME; git status
set -k; git status HOME=$PWD/home
set -o keyword; git status XDG_CONFIG_HOME=$PWD/xdg
bash -k -c 'git status HOME=$PWD/home'
read HOME < homedir; git status
printf -v HOME %s "$PWD/home"; git status
for HOME in $PWD/home; do git status; done
declare HOME=$PWD/home; git status
declare -n r=HOME; r=$PWD/home; git status
mapfile -t a < homedir; HOME=${a[0]}; git status
GIT_EXTERNAL_DIFF=./x git diff HEAD -- tracked
git -c diff.external=./x diff HEAD -- tracked
git grep -O./x canary
git grep --open-files-in-pager=./x canary
git ls-remote --upload-pack=./x .
git -c protocol.ext.allow=always ls-remote "ext::touch hit"
git difftool -y -x ./x HEAD -- tracked
git -c alias.y='!./x' y
git config alias.y '!./x'; git y
git config core.fsmonitor ./x; git status
"""

# `x` is a program, and `bin/ls` another one.
NAMES = r"""
BASH_ALIASES[ls]=./x; shopt -s expand_aliases; eval ls
shopt -s expand_aliases; eval "alias ls=./x"; eval ls
BASH_CMDS[ls]=./x; ls
BASH_CMDS=([ls]=./x); ls
declare BASH_CMDS[ls]=./x; ls
read BASH_CMDS[ls] <<< ./x; ls
read 'BASH_CMDS[ls]' <<< ./x; ls
printf -v 'BASH_CMDS[ls]' ./x; ls
printf -v BASH_CMDS[ls] ./x; ls
declare -n r=BASH_CMDS; r[ls]=./x; ls
x=BASH_CMDS; printf -v "$x[ls]" ./x; ls
x=BASH_CMDS; declare "$x[ls]=./x"; ls
: ${BASH_CMDS[ls]:=./x}; ls
hash -p ./x ls; ls
hash -p ./x -- ls; ls
builtin hash -p ./x ls; ls
command hash -p ./x ls; ls
ls() { ./x; }; ls
function ls { ./x; }; ls
eval 'ls() { ./x; }'; ls
. ./x
source ./x
command . ./x
PATH=.:$PATH; x
PATH=bin:$PATH ls
export PATH=bin:$PATH; ls
declare -n r=PATH; r=bin:$PATH; ls
command_not_found_handle() { ./x; }; nosuch
trap ./x EXIT
trap ./x DEBUG; ls
trap ./x ERR; false
trap ./x RETURN; f() { :; }; f; . ./g
PS4='$(./x)'; set -x; ls
BASH_ENV=./x bash -c ls
export BASH_ENV=./x; bash -c ls
ENV=./x sh -ic ls
HOME=. bash -ic ls
HOME=home bash -lc ls
bash --rcfile x -ic ls
bash --init-file x -ic ls
bash --rcfile x -i -c ls
env -S './x'
env bash -c ./x
nice ./x
timeout 5 ./x
nohup ./x
setsid -w ./x
stdbuf -o0 ./x
echo x | xargs ./x
xargs -a g ./x
xargs sh -c ./x < g
find . -maxdepth 0 -exec ./x \;
find . -maxdepth 1 -name x -exec {} \;
find . -maxdepth 1 -name x -ok {} \; <<< y
find . -maxdepth 1 -name x | sh
find . -maxdepth 1 -name x | bash
echo ./x | sh
cat x | bash
bash < x
bash <<< ./x
bash -s < x
sh x
bash x
eval ./x
eval "$(cat x)"
$(cat cmd)
`cat cmd`
"$(cat cmd)"
$(echo ./x)
$(printf ./x)
${y:-./x}
y=./x; $y
y=(./x); "${y[@]}"
set -- ./x; "$@"
set -- ./x; $1
f() { "$@"; }; f ./x
f() { $1; }; f ./x
bash -c '"$0"' ./x
bash -c '$1' _ ./x
bash -c 'eval "$1"' _ ./x
bash -c "$(cat x)"
coproc ./x; wait
( ./x )
{ ./x; }
! ./x
time ./x
exec ./x
ls $(./x)
ls `./x`
ls <(./x)
ls > >(./x); sleep 0.05
cat <<< $(./x)
[[ -n $(./x) ]]
case $(./x) in *) ;; esac
for i in $(./x); do :; done
select i in $(./x); do break; done < g
echo ${y:-$(./x)}
a[$(./x)]=1
a=([$(./x)]=1)
a=($(./x))
declare y=$(./x)
export y=`./x`
read y <<< "$(./x)"
cat <(./x)
tee >(./x) < g; sleep 0.05
./[x]
./x*
./{x,}
y='$(./x)'; echo "${y@P}"
y='a[$(./x)]'; echo ${!y}
PROMPT_COMMAND=./x bash --norc -i <<< ls
PS1='$(./x)' bash --norc -i <<< ls
mapfile -C ./x -c 1 y < g
complete -C ./x y; compgen -C ./x y
compgen -C ./x y
compgen -W '$(./x)'
compgen -F nosuch -W '`./x`'
enable -n ls; ./x
awk 'BEGIN{system("./x")}'
awk 'BEGIN{"./x"|getline}'
awk 'BEGIN{print|"./x"}'
awk 'BEGIN{print 1 | "sh -c ./x"}'
awk -v c=./x 'BEGIN{system(c)}'
sed '1e ./x' g
sed 's/1/.\/x/e' g
sed -n '1e./x' g
sort --compress-program=./x -S 1k big
sort --compress-prog=./x -S 1k big
sort -S 1k --compress ./x big
tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=./x g
tar cf /dev/null -I ./x g
tar cf t.tar --use-compress-program=./x g
tar xf t0.tar --to-command=./x
tar tf t0.tar -I ./x
split --filter=./x g
split -l1 --filter=./x big
make -f mk test
make --eval='test:;./x' test
make --eval 'test:;./x'
make -E 'test:;./x' test
make SHELL=./x -f mk test
python3 -c 'import os; os.system("./x")'
perl -e 'system "./x"'
perl -e '`./x`'
vim -es -c 'call system("./x")' -cq
vim -es -c '!./x' -cq
vim -es '+call system("./x")' +q
ex -sc '!./x' -cq
ex -s -c 'call system("./x")' -cq
ed -s g <<< '!./x'
ed -s '!./x' <<< q
ssh -o ProxyCommand=./x localhost
ssh -oProxyCommand=./x localhost
scp -S ./x g localhost:
pip --python ./x list
pip --python=./x list
watch -n 9 ./x
script -qc ./x /dev/null
flock g ./x
LESSOPEN='|./x %s' less g
GREP_OPTIONS=x ./x
"""
