#!/bin/sh
# A UCI engine that plays wrong in the way its argument says.
while read -r word rest; do
    case $word in
    uci)
        echo "id name fake"
        echo "option name Skill Level type spin default 1 min 0 max 20"
        echo "option name Style type combo default Solid var Solid var Very sharp"
        echo "option name Own Book type check default false"
        echo "option name Clear Hash type button"
        echo "option name Log File type string default <empty>"
        [ "$1" = mute ] || echo uciok
        ;;
    isready) echo readyok ;;
    setoption) [ "$1" != told ] || echo "$rest" >>told ;;
    go)
        case $1 in
        # After two moves, unless it is mended.
        third)
            echo "$rest" >>asked
            [ "$(wc -l <asked)" -ne 3 ] || [ -e mended ] || exit 3
            echo "info depth 1 nodes 7"
            echo "bestmove e7e5"
            ;;
        illegal | told) echo "bestmove e2e5" ;;
        nonsense) echo "bestmove hello" ;;
        null) echo "info depth 1 score cp 0"; echo "bestmove 0000" ;;
        die) exit 3 ;;
        hang) ;;
        deaf) while :; do sleep 1; done ;;
        esac
        ;;
    quit) exit 0 ;;
    esac
done
