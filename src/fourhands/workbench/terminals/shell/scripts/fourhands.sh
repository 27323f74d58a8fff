# Marks for sh (dash, ash, bash as sh): read as $ENV, it puts into the prompts what they can carry.
#
# Such a shell tells nothing before a command: where it begins is known from the end of the line that was typed only.
# l=1 says so to the reader, which is never sure then. A prompt that is assigned later has no marks.

unset ENV
if [ -n "${FOURHANDS_ENV+x}" ]; then export ENV="$FOURHANDS_ENV"; fi
__fh_key=${FOURHANDS_NONCE-}
unset FOURHANDS_NONCE FOURHANDS_ENV FOURHANDS_BANG
__fh_n=0

# What takes no room, for shells with a line editor.
__fh_open= __fh_close=
if [ -n "${BASH_VERSION-}${BB_ASH_VERSION-}" ]; then
  __fh_open='\[' __fh_close='\]'
  if [ -n "${BASH_VERSION-}" ]; then HISTFILE=${HISTFILE-~/.sh_history}; fi
fi

if [ -n "${ENV-}" ] && [ -r "$ENV" ]; then . "$ENV"; fi

if [ -n "$__fh_key" ]; then
  __fh_esc=$(printf '\033]133;') __fh_bel=$(printf '\007')
  __fh_a=$__fh_open$__fh_esc'D;$?;fh=$__fh_key;n=$__fh_n;o=11;q='"'"'$PWD'"'$__fh_bel"$__fh_esc'P;k=i;fh=$__fh_key;p=$((__fh_n+1));w=sh'$__fh_bel$__fh_close
  __fh_b=$__fh_open$__fh_esc'B;fh=$__fh_key;n=$((__fh_n=__fh_n+1));l=1'$__fh_bel$__fh_close
  PS1=$__fh_a${PS1-}$__fh_b
  PS2=$__fh_open$__fh_esc'P;k=c;fh=$__fh_key'$__fh_bel$__fh_close${PS2-}
fi
