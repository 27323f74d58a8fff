# Marks for fish: found through XDG_DATA_DIRS, which it gives back, it says by fish's own events where commands begin and end.
#
# Nothing of the user's is changed: no function, no prompt, no key. Where the events are blocked there are no marks.

if set -q FOURHANDS_NONCE
    set -g __fh_here (status dirname | string replace -r '/fish/vendor_conf\.d/?$' '')
    if set -q FOURHANDS_DATA_DIRS
        set -gx XDG_DATA_DIRS $FOURHANDS_DATA_DIRS
    else
        set -e XDG_DATA_DIRS
    end
    set -g __fh_key $FOURHANDS_NONCE
    set -g __fh_bang $FOURHANDS_BANG
    set -g __fh_n 0
    set -g __fh_p 0
    set -g __fh_first i
    set -q FOURHANDS_COUNT; and set __fh_n $FOURHANDS_COUNT; or set __fh_first h
    set -e FOURHANDS_NONCE FOURHANDS_COUNT FOURHANDS_BANG FOURHANDS_DATA_DIRS

    # A key that no keyboard has: fish keeps a line with a mistake in it, and the next one must not be typed behind that.
    for mode in default insert
        bind -M $mode \e\[4404~ 'commandline -r ""'
    end

    function __fh_end --argument-names origin code
        builtin printf '\e]133;D;%s;fh=%s;n=%s;s=%s;o=%s;d=%s\a' $code $__fh_key $__fh_n "$argv[3..]" $origin (string escape --style=url -- $PWD)
    end

    function __fh_postexec --on-event fish_postexec
        __fh_end h $status $pipestatus
        set -q FOURHANDS_NONCE; and __fh_stay
    end

    # The first prompt follows no command; a line that runs nothing has its end here.
    function __fh_prompt --on-event fish_prompt
        __fh_end $__fh_first $status $pipestatus
        set -g __fh_first 10
        set -g __fh_p (math $__fh_p + 1)
        # fish before version 4 switches bracketed paste on by the same event.
        set -l pastes (functions -q __fish_enable_bracketed_paste; and echo 1; or echo 0)
        builtin printf '\e]133;P;k=i;fh=%s;p=%s;w=fish;b=%s\a' $__fh_key $__fh_p $pastes
    end

    function __fh_preexec --on-event fish_preexec
        set -g __fh_n (math $__fh_n + 1)
        string match -q 'exec *' -- $argv[1]; and __fh_leave $argv[1]
        builtin printf '\e]133;C;fh=%s;n=%s\a' $__fh_key $__fh_n
    end

    # `exec` of a shell that we know hands over what it needs to continue the marks; no other program gets it.
    function __fh_leave
        set -l words (string split -n ' ' -- $argv[1])
        set words (string match -v -r '^(-l|--login|-i)$' -- $words[2..])
        test (count $words) = 1; or return
        set -l word (string replace -r '^"?\$SHELL"?$' "$SHELL" -- $words[1])
        switch (basename -- $word)
            case bash
                set -q ENV; and set -gx FOURHANDS_ENV $ENV
                set -gx ENV $__fh_here/fourhands.bash
                set -gx POSIXLY_CORRECT y
            case zsh
                set -q ZDOTDIR; and set -gx FOURHANDS_ZDOTDIR $ZDOTDIR
                set -gx ZDOTDIR $__fh_here
            case fish
                set -q XDG_DATA_DIRS; and set -gx FOURHANDS_DATA_DIRS $XDG_DATA_DIRS; or set -gx XDG_DATA_DIRS /usr/local/share:/usr/share
                set -gx XDG_DATA_DIRS "$__fh_here:$XDG_DATA_DIRS"
            case '*'
                return
        end
        set -gx FOURHANDS_NONCE $__fh_key
        set -gx FOURHANDS_COUNT $__fh_n
        set -gx FOURHANDS_BANG $__fh_bang
    end

    # The exec has failed.
    function __fh_stay
        if set -q POSIXLY_CORRECT
            set -e ENV POSIXLY_CORRECT
            set -q FOURHANDS_ENV; and set -gx ENV $FOURHANDS_ENV
        else if test "$ZDOTDIR" = "$__fh_here"
            set -e ZDOTDIR
            set -q FOURHANDS_ZDOTDIR; and set -gx ZDOTDIR $FOURHANDS_ZDOTDIR
        else
            set -e XDG_DATA_DIRS
            set -q FOURHANDS_DATA_DIRS; and set -gx XDG_DATA_DIRS $FOURHANDS_DATA_DIRS
        end
        set -e FOURHANDS_NONCE FOURHANDS_COUNT FOURHANDS_BANG FOURHANDS_ENV FOURHANDS_ZDOTDIR FOURHANDS_DATA_DIRS
    end
end
