# Marks for bash: read as $ENV in posix mode, it becomes the ordinary shell of its user that says where commands begin and end.
#
# The marks stand in PS0, PS1 and PS2, because only the prompt strings need no builtin (all may be redefined), are not
# traced, and go where the prompt goes. PROMPT_COMMAND gets two helpers: one before the user's own text, which reports
# the end of a command before the user's code prints anything and then gives $?, PIPESTATUS and $_ back; one behind it,
# which puts the marks round prompts that the user's code has set anew. Each is there only when it is needed, and none
# runs behind the user's code where a DEBUG trap would take it for a command. Everything is forkless, and written so
# that -e, -u, -x, -f, any IFS and readonly do no harm.

# Posix mode leaves these behind when it goes.
set +o posix
unset POSIXLY_CORRECT
shopt -u inherit_errexit shift_verbose
HISTFILE=~/.bash_history
if [[ $MAILCHECK == 600 ]]; then MAILCHECK=60; fi
unset ENV
if [[ ${FOURHANDS_ENV+x} ]]; then export ENV=$FOURHANDS_ENV; fi

# Read before any file of the user's, which may `set -a`; children must not see it.
__fh_key=${FOURHANDS_NONCE-} __fh_bang=${FOURHANDS_BANG-}
declare -i __fh_n=${FOURHANDS_COUNT:-0} __fh_p=0 __fh_s=0 __fh_i=0 __fh_themed=0
__fh_again=${FOURHANDS_COUNT-} # this shell took the place of another one
unset FOURHANDS_NONCE FOURHANDS_COUNT FOURHANDS_ENV FOURHANDS_BANG
declare +x __fh_key __fh_bang
readonly __fh_key

# Braces and redirection hide the trace of `set -x` and what a DEBUG trap prints; 18 is the terminal. The trap is looked
# for once a second at most, since that takes a fork.
__fh_ask='__fh_end "$?" "${PIPESTATUS[@]}" "${__fh_due:+$(trap -p DEBUG)}" "$_"'
# An alias becomes a pipeline of the same statuses; `case` keeps PIPESTATUS, and && keeps -e and ERR traps away.
__fh_front="{ $__fh_ask; } 18>&1 >/dev/null 2>&1"$'\n{ __fh_back "$_" && case . in esac; } 2>/dev/null\n'
# Under a DEBUG trap, in the plain form that hooks built on it know to be no command of the user's.
__fh_bare=$__fh_ask$'\n__fh_back\n'
__fh_rear='{ __fh_last "$?" "${PIPESTATUS[@]}" "${__fh_due:+$(trap -p DEBUG)}" "$_"; } 18>&1 >/dev/null 2>&1'
__fh_open=0 __fh_cwd= __fh_at= __fh_statuses= __fh_all= __fh_ps0=? __fh_ps1=? __fh_ps2=?
__fh_due= __fh_second= __fh_trap= __fh_origin= __fh_rest= __fh_set= __fh_list=()

# A prompt begins with P;k=i, since A would put it on a line of its own in some terminals.
# D from a prompt string: n = command number, o = origin. The statuses are joined by a space whatever IFS is.
__fh_d='\e]133;D;$?;fh=${__fh_key-};n=$((__fh_n));s=${PIPESTATUS[@]};o='
__fh_a='\['$__fh_d'1${PROMPT_COMMAND[*]:+$((__fh_open))};p=$((__fh_p+=1));q=${PWD@Q}\a\e]133;P;k=i;fh=${__fh_key-};p=$((__fh_p));w=bash\a\]'
__fh_b='\[\e]133;B;fh=${__fh_key-};p=$((__fh_p))\a\]'
__fh_more='\[\e]133;P;k=c;fh=${__fh_key-};p=$((__fh_p))\a\]'
# An unset index expands to nothing after its arithmetic. The helper that one command unset comes back with the next, but
# only where PROMPT_COMMAND has plain attributes: an assignment that fails in PS0 would cancel the user's command.
declare -A __fh_plain=([:]= [:x]= [:a]= [:ax]=) 2>/dev/null # before bash 4 there are none
__fh_c0=$__fh_d'0\a${__fh_nil[__fh_n+=1,__fh_open=1,0]-}'
__fh_c0+='${__fh_plain[":${PROMPT_COMMAND[@]@a}${PROMPT_COMMAND[*]:+s}"]+${__fh_rear#"${PROMPT_COMMAND[9999]:=$__fh_rear}"}}'
__fh_c='\e]133;C;fh=${__fh_key-};n=$((__fh_n));p=$((__fh_p))\a'

# What is known when a command has ended: its status, the statuses of its parts …, the DEBUG trap, its last word.
__fh_note() {
  __fh_s=$1 __fh_list=("${@:2:$#-3}")
  __fh_statuses=${__fh_list[@]}
  if [[ $__fh_due ]]; then __fh_trap=${@:$#-1:1} __fh_due=; fi
  if [[ $SECONDS != "$__fh_second" ]]; then __fh_second=$SECONDS __fh_due=1; fi
  if [[ $PWD != "$__fh_at" ]]; then
    __fh_at=$PWD __fh_cwd=${PWD//'%'/%25}
    if [[ $__fh_cwd == *[[:cntrl:]]* ]]; then __fh_escape; fi
  fi
}

__fh_escape() {
  __fh_rest=$__fh_cwd __fh_cwd=
  while [[ $__fh_rest ]]; do
    __fh_char=${__fh_rest:0:1} __fh_rest=${__fh_rest:1}
    if [[ $__fh_char == [[:cntrl:]] ]]; then builtin printf -v __fh_char '%%%02X' "'$__fh_char"; fi
    __fh_cwd+=$__fh_char
  done
}

# Output that goes elsewhere (`exec >file`), and a `builtin` that is not bash's own, leave the end to the prompt, which
# says then that it stands alone. Origin i: what others printed is included. m=0: no marks are to be expected in the prompt.
__fh_say() {
  if [[ -t 18 ]] && ! declare -F builtin; then
    __fh_open=0
    builtin printf '\e]133;D;%s;fh=%s;n=%s;s=%s;o=%s;m=%s;w=bash;d=%s\a' \
      "$__fh_s" "$__fh_key" "$__fh_n" "$__fh_statuses" "$1" "$2" "$__fh_cwd" >&18
  fi
}

# Before the user's prompt commands. Where another command ran before this one the status is its own, so the prompt must report it.
__fh_end() {
  __fh_note "$@"
  __fh_origin=h
  if [[ ${PROMPT_COMMAND-} == "$__fh_bare"* ]]; then
    if [[ $- == *x* ]]; then __fh_origin=i; fi
  elif [[ ${PROMPT_COMMAND-} != "$__fh_front"* ]]; then
    __fh_origin=
  fi
  if [[ $__fh_again ]]; then __fh_origin=${__fh_origin:+i} __fh_again=; fi
  # A prompt command sets the prompt, perhaps not each time, and no helper may come after it.
  if [[ $__fh_trap && ${PS1-} != "$__fh_ps1" ]]; then __fh_themed=4; fi
  __fh_themed=$((__fh_themed > 0 ? __fh_themed - 1 : 0))
  if [[ ! $__fh_origin ]]; then
    __fh_open=1
  elif [[ -t 18 ]]; then
    __fh_say "$__fh_origin" "$((__fh_themed == 0))"
  else
    { __fh_say "$__fh_origin" "$((__fh_themed == 0))"; } 18>&1 >/dev/null 2>&1
  fi
  if [[ ${FOURHANDS_NONCE+x} ]]; then __fh_stay; fi
  __fh_wrap
  if [[ ${BASH_ALIASES[__fh_back]+x} ]]; then BASH_ALIASES[__fh_back]=__fh_back; fi
  if [[ $- == *e* && $__fh_trap ]]; then
    __fh_s=0
  elif ((${#__fh_list[@]} > 1 || __fh_s != __fh_list[0])); then
    __fh_pipe
  fi
}

# Behind the user's prompt commands. Without the helper in front either no command ran before, or it is not known what it printed.
__fh_last() {
  if [[ ${PROMPT_COMMAND-} != *__fh_end* ]]; then
    __fh_note "$@"
    __fh_origin=h __fh_rest=${PROMPT_COMMAND[@]}
    if [[ $__fh_again || ${__fh_rest//"$__fh_rear"/} == *[![:space:]]* ]]; then __fh_origin=i __fh_again=; fi
    __fh_say "$__fh_origin" 1
    if [[ ${FOURHANDS_NONCE+x} ]]; then __fh_stay; fi
  fi
  __fh_wrap
}

# The user's $? and PIPESTATUS once more.
__fh_back() { return "$__fh_s"; }
__fh_stage() { return "$1"; } # takes a last word, which a subshell does not
__fh_pipe() {
  __fh_i=${#__fh_list[@]}-1
  __fh_set=
  if ((__fh_s == 0 && __fh_list[__fh_i])); then __fh_set='! '; fi
  if ((__fh_s == 1 && __fh_list[__fh_i] == 0)) && [[ ! -o pipefail ]]; then __fh_set='! '; fi
  if ((__fh_i == 0)) && [[ ! $__fh_set ]]; then return 0; fi
  for __fh_char in "${__fh_list[@]:0:__fh_i}"; do __fh_set+="(exit $__fh_char) | "; done
  if [[ $__fh_trap ]]; then
    BASH_ALIASES[__fh_back]="$__fh_set(exit ${__fh_list[__fh_i]})"
  else
    BASH_ALIASES[__fh_back]="${__fh_set}__fh_stage ${__fh_list[__fh_i]}"
  fi
}

# A theme may have set a prompt anew or added to it: take ours out, put it round the whole.
__fh_wrap() {
  if [[ ${PS0-}${PS1-}${PS2-}${PROMPT_COMMAND[*]-}${__fh_trap:+t} == "$__fh_all" ]]; then return 0; fi
  if [[ ! ${PS0+x} ]]; then PS0=; fi
  if [[ ! ${PS1+x} ]]; then PS1=; fi
  if [[ ! ${PS2+x} ]]; then PS2=; fi
  if [[ $PS0 != "$__fh_ps0" && ${PS0@a} != *r* ]]; then
    PS0=${PS0//"$__fh_c0"/}
    PS0=$__fh_c0${PS0//"$__fh_c"/}$__fh_c __fh_ps0=$PS0
  fi
  if [[ $PS1 != "$__fh_ps1" && ${PS1@a} != *r* ]]; then
    PS1=${PS1//"$__fh_a"/}
    PS1=$__fh_a${PS1//"$__fh_b"/}$__fh_b __fh_ps1=$PS1
  fi
  if [[ $PS2 != "$__fh_ps2" && ${PS2@a} != *r* ]]; then
    PS2=$__fh_more${PS2//"$__fh_more"/} __fh_ps2=$PS2
  fi
  if [[ ! ${PROMPT_COMMAND[@]+x} || ${PROMPT_COMMAND[@]@a} != *[!ax\ ]* ]]; then __fh_hook; fi
  __fh_all=$PS0$PS1$PS2${PROMPT_COMMAND[*]-}${__fh_trap:+t}
}

# The helpers in their places, each once. Elements change where they are: bash walks through them meanwhile.
__fh_hook() {
  __fh_set= __fh_i=0
  for __fh_i in "${!PROMPT_COMMAND[@]}"; do
    __fh_rest=${PROMPT_COMMAND[__fh_i]}
    if [[ $__fh_rest == *__fh_* ]]; then
      __fh_rest=${__fh_rest//"$__fh_front"/}
      __fh_rest=${__fh_rest//"$__fh_bare"/}
      __fh_rest=${__fh_rest//"$__fh_rear"/}
      PROMPT_COMMAND[__fh_i]=$__fh_rest
    fi
    if [[ $__fh_rest == *[![:space:]]* ]]; then __fh_set=1; fi
  done
  if [[ $__fh_set ]]; then
    if [[ $__fh_trap ]]; then __fh_rest=$__fh_bare; else __fh_rest=$__fh_front; fi
    PROMPT_COMMAND[0]=$__fh_rest${PROMPT_COMMAND-}
  fi
  if [[ $__fh_trap ]]; then
    __fh_plain=()
  else
    __fh_plain=([:]= [:x]= [:a]= [:ax]=)
    if ((__fh_i < 9999)); then
      __fh_i=9999
    elif [[ ${PROMPT_COMMAND[__fh_i]} ]]; then
      __fh_i+=1
    fi
    PROMPT_COMMAND[__fh_i]=$__fh_rear
  fi
}

# `exec` of a shell that we know hands over what it needs to go on with the marks: the alias looks at its own command in
# BASH_COMMAND. The variables are exported but unset until then, so that no other program gets them.
__fh_exec='${__fh_to[":${BASH_COMMAND##* exec }"]+${FOURHANDS_NONCE:=$__fh_key}${FOURHANDS_COUNT:=$((__fh_n))}${FOURHANDS_BANG:=$__fh_bang}}'
__fh_exec+='${__fh_to["bash:${BASH_COMMAND##* exec }"]+${ENV-${POSIXLY_CORRECT:=y}${ENV:=$__fh_here/fourhands.bash}}}'
__fh_exec+='${__fh_to["zsh:${BASH_COMMAND##* exec }"]+${ZDOTDIR:=$__fh_here}}'
__fh_exec+='${__fh_to["fish:${BASH_COMMAND##* exec }"]+${XDG_DATA_DIRS:=$__fh_here:/usr/local/share:/usr/share}}'
declare -A __fh_to=() 2>/dev/null

__fh_prepare() {
  for __fh_rest in bash zsh fish '$SHELL' '"$SHELL"' "${SHELL-}"; do
    __fh_char=${__fh_rest##*/}
    if [[ $__fh_rest == *SHELL* ]]; then __fh_char=${SHELL##*/}; fi
    if [[ $__fh_char == @(bash|zsh|fish) ]]; then
      for __fh_rest in "$__fh_rest" "/bin/$__fh_rest" "/usr/bin/$__fh_rest"; do
        for __fh_rest in "$__fh_rest" "$__fh_rest "{-l,--login,-i} "-l $__fh_rest"; do
          __fh_to[":$__fh_rest"]= __fh_to["$__fh_char:$__fh_rest"]=
        done
      done
    fi
  done
  __fh_export
  BASH_ALIASES[exec]='PWD=${PWD%"${__fh_exec@P}"} exec'
}

__fh_export() {
  declare -gx FOURHANDS_NONCE FOURHANDS_COUNT FOURHANDS_BANG
  if [[ ! ${ENV+x} ]]; then declare -gx ENV POSIXLY_CORRECT; fi
  if [[ ! ${ZDOTDIR+x} ]]; then declare -gx ZDOTDIR; fi
  if [[ ! ${XDG_DATA_DIRS+x} ]]; then declare -gx XDG_DATA_DIRS; fi
}

# The exec has failed.
__fh_stay() {
  if [[ ${POSIXLY_CORRECT+x} ]]; then unset POSIXLY_CORRECT ENV; fi
  if [[ ${ZDOTDIR-} == "$__fh_here" ]]; then unset ZDOTDIR; fi
  if [[ ${XDG_DATA_DIRS-} == "$__fh_here:"* ]]; then unset XDG_DATA_DIRS; fi
  unset FOURHANDS_NONCE FOURHANDS_COUNT FOURHANDS_BANG
  __fh_export
}

__fh_here=${BASH_SOURCE[0]%/*}
if [[ $__fh_again ]] && ! shopt -q login_shell; then
  if [[ -r /etc/bash.bashrc ]]; then . /etc/bash.bashrc; fi
  if [[ -r ~/.bashrc ]]; then . ~/.bashrc; fi
else
  if [[ -r /etc/profile ]]; then . /etc/profile; fi
  if [[ -r ~/.bash_profile ]]; then
    . ~/.bash_profile
  elif [[ -r ~/.bash_login ]]; then
    . ~/.bash_login
  elif [[ -r ~/.profile ]]; then
    . ~/.profile
  fi
fi

# PS0 and arrays of prompt commands: without them (bash before 5.1) there are no marks, and the reader says so.
__fh_start() {
  # A program that drives a shell does not recall commands.
  if [[ $__fh_bang == off ]]; then set +H; fi
  if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)) || [[ ! $__fh_key ]]; then return 0; fi
  __fh_trap=$1
  # This one sets its trap at the first prompt.
  if [[ ${PROMPT_COMMAND[*]-} == *__bp_* ]]; then __fh_trap=1; fi
  __fh_wrap
  if [[ ! ${BASH_ALIASES[exec]+x} ]]; then __fh_prepare; fi
}
{ __fh_start "$(trap -p DEBUG)" ''; } >/dev/null 2>&1
