# Marks for bash: read as $ENV by `bash --posix --login`, it becomes an ordinary login shell that says where commands begin and end.
#
# The marks stand in PS0, PS1 and PS2, because only the prompt strings need no builtin (all may be redefined), are not
# traced, and go where the prompt goes. PROMPT_COMMAND only repairs them and reports the end before the user's own
# prompt commands print anything. As an array element far behind the user's, it outlives `PROMPT_COMMAND=...`; PS0 puts
# it back after `unset`. Everything is forkless, and written so that -e, -u, -x, -f, any IFS and readonly do no harm.

# Posix mode leaves these behind when it goes.
set +o posix
shopt -u inherit_errexit shift_verbose
HISTFILE=~/.bash_history
if [[ $MAILCHECK == 600 ]]; then MAILCHECK=60; fi
unset ENV
if [[ ${FOURHANDS_ENV+x} ]]; then export ENV=$FOURHANDS_ENV; fi

# Read before any file of the user's, which may `set -a`; children must not see it.
__fh_key=${FOURHANDS_NONCE-} __fh_bang=${FOURHANDS_BANG-}
unset FOURHANDS_NONCE FOURHANDS_ENV FOURHANDS_BANG
declare +x __fh_key __fh_bang
readonly __fh_key

# Element 0 is the user's; ours goes in front of it. Braces and redirection hide the trace of `set -x`.
__fh_first='{ __fh_end; } 2>/dev/null;'
__fh_last='{ __fh_wrap; } 2>/dev/null'
declare -i __fh_n=0 __fh_p=0 __fh_s=0
__fh_open=0 __fh_cwd= __fh_at= __fh_statuses= __fh_all= __fh_ps0=? __fh_ps1=? __fh_ps2=?

# D from a prompt string: n = command number, o = origin. The statuses are joined by a space whatever IFS is.
__fh_d='\e]133;D;$?;fh=${__fh_key-};n=$((__fh_n));s=${PIPESTATUS[@]};o='
__fh_a='\['$__fh_d'1$((__fh_open));p=$((__fh_p+=1))\a\e]133;A;fh=${__fh_key-};p=$((__fh_p))\a\]'
__fh_b='\[\e]133;B;fh=${__fh_key-};p=$((__fh_p))\a\]'
__fh_more='\[\e]133;P;k=c;fh=${__fh_key-};p=$((__fh_p))\a\]'
# An unset index expands to nothing after its arithmetic. The hook that one command unset comes back with the next, but
# only where PROMPT_COMMAND has plain attributes: an assignment that fails in PS0 would cancel the user's command.
declare -A __fh_plain=([:]= [:x]= [:a]= [':a a']= [':a a a']= [':a a a a']= [':a a a a a']= [':a a a a a a']=)
__fh_c0=$__fh_d'0\a${__fh_nil[__fh_n+=1,__fh_open=1,0]-}'
__fh_c0+='${__fh_plain[":${PROMPT_COMMAND[@]@a}"]+${__fh_last#"${PROMPT_COMMAND[9999]:=$__fh_last}"}}'
__fh_c='\e]133;C;fh=${__fh_key-};n=$((__fh_n));p=$((__fh_p))\a'

__fh_end() {
  __fh_s=$? __fh_statuses=${PIPESTATUS[@]}
  if [[ $PWD != "$__fh_at" ]]; then
    __fh_at=$PWD __fh_cwd=${PWD//'%'/%25}
    if [[ $__fh_cwd == *[[:cntrl:]]* ]]; then __fh_escape; fi
  fi
  # Output that goes elsewhere (`exec >file`) leaves it to the prompt, which says then that it stands alone.
  if [[ -t 1 ]]; then
    __fh_open=0
    builtin printf '\e]133;D;%s;fh=%s;n=%s;s=%s;o=h;d=%s\a' "$__fh_s" "$__fh_key" "$__fh_n" "$__fh_statuses" "$__fh_cwd"
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

# A theme may have set a prompt anew or added to it: take ours out, put it round the whole.
__fh_wrap() {
  if [[ ${PS0-}${PS1-}${PS2-}${PROMPT_COMMAND-}${PROMPT_COMMAND[-1]} == "$__fh_all" ]]; then return 0; fi
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
  if [[ ${PROMPT_COMMAND[@]@a} != *r* ]]; then
    if [[ ${PROMPT_COMMAND-} != "$__fh_first"* ]]; then
      PROMPT_COMMAND[0]=$__fh_first${PROMPT_COMMAND-}
    fi
    # Somebody appended behind us: step behind them again, for the next prompt.
    if [[ ${PROMPT_COMMAND[-1]} != "$__fh_last" ]]; then
      PROMPT_COMMAND=("${PROMPT_COMMAND[@]/#"$__fh_last"/:}")
      PROMPT_COMMAND[9999]=$__fh_last
    fi
  fi
  __fh_all=$PS0$PS1$PS2${PROMPT_COMMAND-}$__fh_last
}

if [[ -r /etc/profile ]]; then . /etc/profile; fi
if [[ -r ~/.bash_profile ]]; then
  . ~/.bash_profile
elif [[ -r ~/.bash_login ]]; then
  . ~/.bash_login
elif [[ -r ~/.profile ]]; then
  . ~/.profile
fi

# Nobody recalls commands in a shell that a program drives.
if [[ $__fh_bang == off ]]; then set +H; fi

# PS0 and arrays of prompt commands: without them (bash before 5.1) there are no marks, and the reader says so.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)) && [[ $__fh_key ]]; then
  if [[ ! ${PROMPT_COMMAND[@]+x} || ${PROMPT_COMMAND[@]@a} != *r* ]]; then PROMPT_COMMAND[9999]=$__fh_last; fi
  { __fh_wrap; } 2>/dev/null
fi
