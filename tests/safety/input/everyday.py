"""What an agent types into programs in an everyday session, written down before any of it was classified as input.

Never change one of these to make a number come out better: they are a measure. By the command that started the
program: each line is one input, with Enter behind it. The inputs for pagers and editors are keys.
"""

LINES = {
    "python3": r"""
6*7
import json
x = [1, 2, 3]
print(x)
len(x)
sum(x) / len(x)
sorted(x, reverse=True)
"hello world".split()
{"a": 1}["a"]
def double(n): return n * 2
double(21)
for n in range(3): print(n)
import os
os.getcwd()
os.listdir(".")
import sys; sys.version
from pathlib import Path
Path("src").exists()
list(Path(".").glob("*.py"))
json.loads('{"a": [1, 2]}')
json.dumps({"a": 1}, indent=2)
import re
re.findall(r"\d+", "a1b22")
[n ** 2 for n in x if n > 1]
help(str.split)
dir(json)
type(x)
isinstance(x, list)
data = open("data.csv").read()
data.splitlines()[:5]
from collections import Counter
Counter("hello").most_common(2)
import numpy as np
np.arange(5).mean()
import pandas as pd
df = pd.read_csv("data.csv")
df.head()
df.describe()
df["price"].mean()
import math; math.sqrt(2)
f"{x!r:>10}"
_
import mypackage
mypackage.__version__
from mypackage.models import User
User(name="Ann").full_name()
x > y
del x
format(3.14159, ".2f")
print("It's done")
exit()
""",
    "ipython": r"""
%timeit sum(range(100))
df.shape
x?
%pwd
!ls
_ + 1
""",
    "python3 ask.py": r"""
y
no
42
my-project
An example (draft), isn't it?
1.0.0
""",
    "node": r"""
1 + 2 * 3
const xs = [1, 2, 3]
xs.map(x => x * 2)
console.log(`total: ${xs.length}`)
JSON.stringify({a: 1})
Object.keys(process.versions)
"a,b".split(",")
new Date().toISOString()
Math.max(...xs)
/a(b)/.exec("ab")
function double(n) { return n * 2 }
require("./package.json").version
[3, 1, 2].sort()
.help
.exit
""",
    "sqlite3 app.db": r"""
.tables
.schema users
.headers on
.mode column
SELECT * FROM users LIMIT 5;
SELECT count(*) FROM orders WHERE total > 100;
EXPLAIN QUERY PLAN SELECT * FROM users WHERE id = 1;
PRAGMA table_info(users);
INSERT INTO users (name) VALUES ('Ann');
UPDATE users SET name = 'Bob' WHERE id = 1;
CREATE INDEX by_name ON users (name);
SELECT * FROM notes WHERE text = 'drop me a line';
.quit
""",
    "psql app": r"""
\dt
\d users
SELECT version();
SELECT id, email FROM users WHERE created_at > now() - interval '1 day';
EXPLAIN ANALYZE SELECT 1;
BEGIN;
COMMIT;
\q
""",
    "redis-cli": r"""
PING
GET user:1
KEYS session:*
SET greeting hello
INFO memory
""",
    "gdb ./app": r"""
break main
run
bt
print x
info locals
next
list
continue
quit
""",
    "python3 -m pdb app.py": r"""
l
n
p x
pp self.items
b 42
c
w
q
""",
    "bc": r"""
6*7
scale=4; 22/7
2^10
""",
    "irb": r"""
1 + 1
[1, 2, 3].map { |x| x * 2 }
"abc".upcase
""",
    "npm init": r"""
my-app
1.0.0
MIT
yes
""",
    "./setup.sh": r"""
y
n
2
*
/usr/local
""",
}

KEYS = {
    "less README.md": ["q", " ", "G", "gg", "/error\n", "n", "\x1b[B", "50%"],
    "vim app.py": [
        "ihello\x1b",
        ":w\n",
        ":q\n",
        "dd",
        ":%s/foo/bar/g\n",
        "/def main\n",
        "ggVG",
        "oprint(x)\n\x1b",
        "u",
        ":wq\n",
    ],
    "nano notes.txt": ["hello world\n", "\x0f\n", "\x18"],
    "htop": ["q", "\x1b[B"],
}
