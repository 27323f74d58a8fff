# Marks for zsh: found through ZDOTDIR, it gives ZDOTDIR back at once and says where commands begin and end.
#
# From here on zsh reads the user's files by itself, as if we had not been there. The hooks are set now and once more
# before the first prompt (sched), since a .zshrc may assign the hook arrays; later preexec and precmd repair each other.
# The end of a command stands first in PROMPT_EOL_MARK, the only thing zsh prints before it marks a missing newline.

if [[ -n ${FOURHANDS_ZDOTDIR+x} ]]; then
  export ZDOTDIR=$FOURHANDS_ZDOTDIR
else
  unset ZDOTDIR
fi

# Read before any file of the user's, which may set allexport; children must not see it.
typeset -g +x __fh_key=${FOURHANDS_NONCE-}
unset FOURHANDS_NONCE FOURHANDS_ZDOTDIR
typeset -gi +x __fh_n=0 __fh_p=0
typeset -g +x __fh_cwd= __fh_at= __fh_a=- __fh_eol=-
# Without the leading percent sign: as the first character of a pattern it would be an anchor.
typeset -g +x __fh_b=$'{\e]133;B;fh='$__fh_key$'\a%}' __fh_more=$'{\e]133;P;k=c;fh='$__fh_key$'\a%}'

# Where the terminal is: the user may have sent output or errors elsewhere.
__fh_say() {
  if [[ -t 1 ]]; then builtin print -rn -- "$1"
  elif [[ -t 3 ]]; then builtin print -rnu3 -- "$1"
  elif [[ -w $TTY ]]; then builtin print -rn -- "$1" >$TTY
  fi
}

# Put the marks of command n round the prompts; $1 tells whether the precmd hook has seen its end (0) or not (1).
__fh_wrap() {
  local d=$'{\e]133;D;%?;fh='$__fh_key";n=$__fh_n;o="
  local a="${d}1$1;p=$__fh_p"$'\a\e]133;A;fh='"$__fh_key;p=$__fh_p;b=${+zle_bracketed_paste}"$'\a%}' eol="${d}e"$'\a%}'
  if [[ -o promptpercent ]]; then
    PS1=%$a${${${PS1-}//[%]$__fh_a/}//[%]$__fh_b/}%$__fh_b
    PS2=%$__fh_more${${PS2-}//[%]$__fh_more/}
  fi
  if [[ -z ${PROMPT_EOL_MARK+x} ]]; then PROMPT_EOL_MARK='%B%S%#%s%b'; fi
  PROMPT_EOL_MARK=%$eol${PROMPT_EOL_MARK//[%]$__fh_eol/}
  __fh_a=$a __fh_eol=$eol
  # They hold the key: a shell inside this one would inherit our marks with the prompt.
  typeset -g +x PS1 PS2 PROMPT_EOL_MARK __fh_a __fh_eol
  if [[ ${precmd_functions[-1]-} != __fh_precmd ]]; then precmd_functions=(${precmd_functions:#__fh_precmd} __fh_precmd); fi
  if [[ ${preexec_functions[-1]-} != __fh_preexec ]]; then preexec_functions=(${preexec_functions:#__fh_preexec} __fh_preexec); fi
}

# The options are still the user's here. Without our part in it, the mark of a missing newline has come before us.
__fh_precmd() {
  { __fh_end $? "${(j: :)pipestatus[@]}" ${options[promptsp]-off} } 3>&2 2>/dev/null
}

__fh_end() {
  emulate -L zsh
  if [[ $PWD != $__fh_at ]]; then
    __fh_at=$PWD __fh_cwd=${PWD//\%/%25}
    if [[ $__fh_cwd == *[[:cntrl:]]* ]]; then
      local c out=
      for c in ${(s::)__fh_cwd}; do
        if [[ $c == [[:cntrl:]] ]]; then builtin printf -v c '%%%02X' "'$c"; fi
        out+=$c
      done
      __fh_cwd=$out
    fi
  fi
  local o=h
  if [[ $3 == on && $__fh_n -gt 0 && ${PROMPT_EOL_MARK-} != *$__fh_eol* ]]; then o=11; fi
  __fh_say $'\e]133;D;'"$1;fh=$__fh_key;n=$__fh_n;s=$2;o=$o;d=$__fh_cwd"$'\a'
  __fh_p+=1
  __fh_wrap 0
}

__fh_preexec() {
  { __fh_begin } 3>&2 2>/dev/null
}

__fh_begin() {
  emulate -L zsh
  __fh_n+=1
  __fh_wrap 1
  __fh_say $'\e]133;C;fh='"$__fh_key;n=$__fh_n;p=$__fh_p"$'\a'
}

if [[ -n $__fh_key ]]; then
  precmd_functions+=(__fh_precmd)
  preexec_functions+=(__fh_preexec)
  # Only where precmd was lost: then there was no prompt number yet.
  __fh_first() { if (( __fh_p == 0 )); then __fh_precmd; fi }
  if [[ -o interactive ]]; then zmodload zsh/sched 2>/dev/null && sched +0 __fh_first; fi
fi

if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then
  source ${ZDOTDIR:-$HOME}/.zshenv
fi
