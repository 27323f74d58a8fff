"""Commands of databases' clients that run programs, write files or load code, and those of two other languages."""

import re

from fourhands.safety.shell.options import words

DANGEROUS_COMMANDS: dict[str, re.Pattern[str]] = {
    "sqlite": re.compile(
        r"\A\.(?:sh|she|shel|shell|sy\w*|load|loa|imp\w*|out\w*|o|once|onc|exc\w*|www|arc\w*|ar|rest\w*|clone|clon|log|"
        r"trace|iotrace|testctrl|unmodule|filectrl|save|sav|backup|bac\w*|cd|edit|x|w)\b"
    ),
    "psql": re.compile(
        r"\\(?:!|copy\b|o\b|out\b|w\b|write\b|gexec\b|e[fv]?\b|edit\b|setenv\b|getenv\b|s\s+\S|lo_\w+|password\b|cd\b|"
        r"g\w*\s*[|/~.\w(]|i\w*\s*\||bind_named)|\A(?=[^`]*`)[^\\]*\\"
    ),
    "mysql": re.compile(r"\\[!PTe.]|\A(?:system|pager|tee|edit|source)\b(?!\s*=)|\A\\(?:P|T|!)", re.IGNORECASE),
    "duckdb": re.compile(
        r"\A\.(?:sh|shell|sy\w*|load|imp\w*|out\w*|o|once|exc\w*|www|log|trace|save|backup|cd|edit)\b", re.IGNORECASE
    ),
    "sql": re.compile(
        r"\\!|\A[.:!]{1,2}(?:!|shell|system|r\b|out\b|ed\b)|\A!!?|\A(?:source|capture|copy)\b", re.IGNORECASE
    ),
}
# Commands of Redis that delete, run scripts, or change the server.
REDIS = words(
    "del unlink flushall flushdb shutdown eval evalsha eval_ro evalsha_ro fcall fcall_ro script function debug module "
    "slaveof replicaof save bgsave bgrewriteaof acl migrate restore cluster failover sync psync swapdb sentinel hdel "
    "getdel zrem srem lrem ltrim lpop rpop spop zpopmin zpopmax xdel xtrim zremrangebyrank zremrangebyscore "
    "zremrangebylex json.del ft.dropindex latency slowlog reset"
)
MONGO = re.compile(
    r"\.\s*(?:delete\w*|remove\w*|findOneAndDelete|findAndModify|drop\w*|bulkWrite|renameCollection|shutdownServer|"
    r"fsyncLock|createUser|updateUser|grant\w*|revoke\w*|runCommand|adminCommand|eval|copyDatabase|cloneDatabase|"
    r"mapReduce|killOp)\b|\bdb\s*\[|\$(?:where|out|merge|function|accumulator)\b|\b(?:load|runProgram|run|rawMongoProgramOutput|"
    r"removeFile|passwordPrompt|snippet|disableTelemetry|use\s+admin)\b\s*\(?"
)
