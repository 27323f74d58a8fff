# Marks for zsh: found through ZDOTDIR, it gives ZDOTDIR back at once and says where commands begin and end.
#
# From here on zsh reads the user's files by itself, as if we had not been there. The hooks are set now and once more
# before the first prompt (sched), since a .zshrc may assign the hook arrays; later preexec and precmd repair each other.
# The end of a command stands first in PROMPT_EOL_MARK, the only thing zsh prints before it marks a missing newline.

typeset -g +x __fh_here=$ZDOTDIR
if [[ -n ${FOURHANDS_ZDOTDIR+x} ]]; then
  export ZDOTDIR=$FOURHANDS_ZDOTDIR
else
  unset ZDOTDIR
fi

# Read before any file of the user's, which may set allexport; children must not see it.
typeset -g +x __fh_key=${FOURHANDS_NONCE-} __fh_bang=${FOURHANDS_BANG-}
typeset -gi +x __fh_n=${FOURHANDS_COUNT:-0}
typeset -g +x __fh_again=${FOURHANDS_COUNT-} # this shell took the place of another one
unset FOURHANDS_NONCE FOURHANDS_COUNT FOURHANDS_ZDOTDIR FOURHANDS_BANG
typeset -g +x __fh_cwd= __fh_at= __fh_ps1=- __fh_ps2=- __fh_a=- __fh_paste=-
# A program that drives a shell does not recall commands.
if [[ $__fh_bang == off ]]; then unsetopt banghist; fi
# What stands in the prompts never changes, so that they need no work: an end without a number is that of the last
# command. Without the leading percent sign, which as the first character of a pattern would be an anchor.
typeset -g +x __fh_b=$'{\e]133;B;fh='$__fh_key$'\a%}' __fh_more=$'{\e]133;P;k=c;fh='$__fh_key$'\a%}'
typeset -g +x __fh_eol=$'{\e]133;D;%?;fh='$__fh_key$';o=e\a%}'

# Where the terminal is: the user may have sent the output elsewhere.
__fh_say() {
  if [[ -t 1 ]]; then builtin print -rn -- "$1"; elif [[ -w $TTY ]]; then builtin print -rn -- "$1" >$TTY; fi
}

__fh_wrap() {
  emulate -L zsh
  local a=$'{\e]133;D;%?;fh='$__fh_key$';o=11\a\e]133;P;k=i;fh='$__fh_key";w=zsh;b=${+zle_bracketed_paste}"$'\a%}'
  if [[ $1 == on ]]; then
    PS1=%$a${${${PS1-}//[%]$__fh_a/}//[%]$__fh_b/}%$__fh_b
    PS2=%$__fh_more${${PS2-}//[%]$__fh_more/}
    __fh_a=$a
  fi
  __fh_ps1=${PS1-} __fh_ps2=${PS2-} __fh_paste=${+zle_bracketed_paste}
  if [[ -z ${PROMPT_EOL_MARK+x} ]]; then PROMPT_EOL_MARK='%B%S%#%s%b'; fi
  PROMPT_EOL_MARK=%$__fh_eol${PROMPT_EOL_MARK//[%]$__fh_eol/}
  # They hold the key: a shell inside this one would inherit our marks with the prompt.
  typeset -g +x PS1 PS2 PROMPT_EOL_MARK __fh_a __fh_ps1 __fh_ps2
}

# Last in both lists, because others set the prompt. Braces and redirection hide the trace of `set -x`.
__fh_hooks() {
  emulate -L zsh
  precmd_functions=(${precmd_functions:#__fh_precmd} __fh_precmd)
  preexec_functions=(${preexec_functions:#__fh_preexec} __fh_preexec)
}

__fh_precmd() {
  { __fh_end $? "${(j: :)pipestatus[@]}" } 2>/dev/null
}

__fh_end() {
  # A .zshrc may have switched it on again; too late for the first line, which zsh has begun to read before its precmd.
  if [[ $__fh_bang == off ]]; then __fh_bang=done; unsetopt banghist; fi
  if [[ $PWD != "$__fh_at" ]]; then __fh_move; fi
  local o=h
  # Without our part in it, the mark of a missing newline has come before us.
  if [[ ${PROMPT_EOL_MARK-} != "%$__fh_eol"* && -o promptsp ]] && (( __fh_n )); then o=i; fi
  if [[ -n $__fh_again ]]; then o=i __fh_again=; fi
  __fh_say $'\e]133;D;'"$1;fh=$__fh_key;n=$__fh_n;s=$2;o=$o;d=$__fh_cwd"$'\a'
  if [[ ${PS1-} != "$__fh_ps1" || ${PS2-} != "$__fh_ps2" || $__fh_paste != ${+zle_bracketed_paste} ||
    ${PROMPT_EOL_MARK-} != "%$__fh_eol"* ]]; then
    if [[ -o promptpercent ]]; then __fh_wrap on; else __fh_wrap off; fi
  fi
  if [[ "${precmd_functions[-1]-} ${preexec_functions[-1]-}" != "__fh_precmd __fh_preexec" ]]; then __fh_hooks; fi
}

__fh_move() {
  emulate -L zsh
  __fh_at=$PWD __fh_cwd=${PWD//\%/%25}
  if [[ $__fh_cwd == *[[:cntrl:]]* ]]; then
    local c out=
    for c in ${(s::)__fh_cwd}; do
      if [[ $c == [[:cntrl:]] ]]; then builtin printf -v c '%%%02X' "'$c"; fi
      out+=$c
    done
    __fh_cwd=$out
  fi
}

__fh_preexec() {
  { __fh_begin "$1" } 2>/dev/null
}

__fh_begin() {
  __fh_n+=1
  if [[ $1 == exec\ * ]]; then __fh_leave "$1"; fi
  if [[ ${precmd_functions[-1]-} != __fh_precmd ]]; then __fh_hooks; fi
  __fh_say $'\e]133;C;fh='"$__fh_key;n=$__fh_n"$'\a'
}

# `exec` of a shell that we know hands over what it needs to continue the marks; no other program gets it, since zsh ends
# where it fails.
__fh_leave() {
  emulate -L zsh
  local -a words=(${(z)1})
  words=(${words[2,-1]:#(-l|--login|-i)})
  if [[ $#words != 1 ]]; then return; fi
  local word=${${(Q)words[1]}/#%\$SHELL/$SHELL}
  case ${word:t} in
    bash)
      if [[ -n ${ENV+x} ]]; then export FOURHANDS_ENV=$ENV; fi
      export ENV=$__fh_here/fourhands.bash POSIXLY_CORRECT=y
      ;;
    zsh)
      if [[ -n ${ZDOTDIR+x} ]]; then export FOURHANDS_ZDOTDIR=$ZDOTDIR; fi
      export ZDOTDIR=$__fh_here
      ;;
    fish)
      if [[ -n ${XDG_DATA_DIRS+x} ]]; then export FOURHANDS_DATA_DIRS=$XDG_DATA_DIRS; fi
      export XDG_DATA_DIRS=$__fh_here:${XDG_DATA_DIRS:-/usr/local/share:/usr/share}
      ;;
    *) return ;;
  esac
  export FOURHANDS_NONCE=$__fh_key FOURHANDS_COUNT=$__fh_n FOURHANDS_BANG=${__fh_bang:+off}
}

if [[ -n $__fh_key ]]; then
  precmd_functions+=(__fh_precmd)
  preexec_functions+=(__fh_preexec)
  # Only where precmd was lost: then the directory is not known yet.
  __fh_first() { if [[ -z $__fh_at ]]; then __fh_precmd; fi }
  if [[ -o interactive ]]; then zmodload zsh/sched 2>/dev/null && sched +0 __fh_first; fi
fi

if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then
  source ${ZDOTDIR:-$HOME}/.zshenv
fi
