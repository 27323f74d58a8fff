"""Secrets in settings, command lines, netrc and XML are taken out; programs that look alike are not."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.table import table

from fourhands.safety.redaction.redactor import Redactor, redact

SECRET = "hunter2pw"
FORMS = r"""
password: hunter2pw
password: "hunter2pw"
  db_password: hunter2pw
secret = "hunter2pw"
api_key = 'hunter2pw'
client_secret: hunter2pw
mysql -u root -phunter2pw db
mysqldump -uroot -p'hunter2pw' x
curl -u user:hunter2pw https://x
curl -s --user bob:hunter2pw https://x
curl -ubob:hunter2pw https://x
machine api.x.com login bob password hunter2pw
  password hunter2pw
<password>hunter2pw</password>
<apiKey>hunter2pw</apiKey>
<add key="Password" value="hunter2pw"/>
sshpass -p hunter2pw ssh x
redis-cli -h x -a hunter2pw
tool --password hunter2pw x
tool --api-token hunter2pw
docker login -u bob -p hunter2pw registry
requirepass hunter2pw
echo "password: hunter2pw"
log('db password = hunter2pw')
define('DB_PASSWORD', 'hunter2pw');
Server=h;User Id=a;Password=hunter2pw;Timeout=3
jdbc:mysql://h/db?user=a&password=hunter2pw
http://h/x?a=1&api_key=hunter2pw&b=2
""".strip().split("\n")
ORDINARY = r"""
Password:
password: str
password: string;
    password: Optional[str] = None
secret = get_secret("x1")
token = tokens.pop(0)
token: Token2
secret = settings.secret
password = input("Password: ")
token = request.headers["x1"]
<password></password>
<password>${db.password}</password>
secret: true
max_tokens: 4096
mkdir -p src/a1
ssh -p 2222 host
docker run -p 8080:80 x
docker login registry
print("password: required")
echo "token: see README2.md"
define('DB_NAME', 'hunter2pw')
a=1;b=2;c=3&d=4
https://h/x?a=1&token=true
curl -u "$USER:$PASS" https://x
patch -p1 < x
--token TOKEN
--password <password>
the token expires in 3600 seconds
keyboard: qwerty123
""".strip("\n").split("\n")


@table(("line",), [(line,) for line in FORMS])
def test_a_secret_in_this_form_is_taken_out(line):
    assert SECRET not in redact(line)
    assert "[redacted:secret]" in redact(line)
    assert redact(redact(line)) == redact(line)


@table(("line",), [(line,) for line in ORDINARY])
def test_a_line_that_looks_alike_stays(line):
    assert redact(line) == line


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FORMS + ORDINARY), max_size=6), st.lists(st.integers(1, 30), max_size=20))
def test_however_the_text_is_cut_the_result_is_the_same(lines, cuts):
    text = "\n".join(lines)
    redactor, out, at = Redactor(), "", 0
    for cut in cuts:
        out += redactor.feed(text[at : at + cut])
        at += cut
    assert out + redactor.feed(text[at:]) + redactor.close() == redact(text)
