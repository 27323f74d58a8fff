"""Shell lines as coding agents run them in a day's work, in four kinds of project; written before anyone saw how they are judged.

They measure; they are not a specification. Nobody adds a line here to make a number better, and none is taken away.
`PROJECTS` has them by project. A line with a here-document is one entry with its line breaks.
"""

# ruff: noqa: E501 - a line that an agent types is as long as it is

WEB_SERVICE = r"""
ls -la
cat README.md
cat pyproject.toml
git status
git log --oneline -10
find . -name "*.py" -not -path "./.venv/*" | head -50
ls app app/api app/models tests
cat app/main.py
sed -n '1,80p' app/api/users.py
grep -rn "def create_user" app/
grep -rn "SessionLocal" --include="*.py" . | head -20
rg -n "Depends\(get_current_user\)" app
rg -l "from app.core.config import settings"
wc -l app/**/*.py
tree -L 2 -I '__pycache__|.venv|node_modules'
python --version && which python
python -m venv .venv
source .venv/bin/activate && pip install -r requirements.txt
.venv/bin/pip install -e ".[dev]" 2>&1 | tail -3
pip install httpx pytest-asyncio
pip list | grep -i -E "fastapi|pydantic|sqlalchemy"
pip show pydantic | head -3
python -c "import app.main; print('ok')"
python -c "from app.core.config import settings; print(settings.model_dump())"
pytest -q
pytest -x -q 2>&1 | tail -30
pytest tests/test_users.py -v
python -m pytest tests/test_users.py::test_create_user_duplicate_email -xvs
pytest --lf
pytest -q --cov=app --cov-report=term-missing | tail -40
.venv/bin/python -m pytest tests -q -k "auth and not slow" 2>&1 | grep -E "passed|failed|error"
ruff check .
ruff check --fix app tests
ruff format .
mypy app
black --check . && isort --check-only .
git diff
git diff --stat
git diff HEAD~1 -- app/api/users.py
git show HEAD:app/models.py | head -60
git blame -L 40,60 app/api/users.py
git add -A && git commit -m "Return 409 when the email is taken"
git add app/api/users.py tests/test_users.py
git commit -m "Add pagination to the user list"
git checkout -b feature/pagination
git stash && pytest -q && git stash pop
git restore app/api/users.py
git push -u origin feature/pagination
git pull --rebase origin main
git branch -a
sed -i 's/from pydantic import BaseSettings/from pydantic_settings import BaseSettings/' app/core/config.py
sed -i '42s/limit: int = 100/limit: int = 50/' app/api/users.py
grep -rl "orm_mode" app | xargs sed -i 's/orm_mode = True/from_attributes = True/'
mkdir -p app/services && touch app/services/__init__.py
mv app/utils.py app/core/utils.py
cp .env.example .env
rm -rf __pycache__ .pytest_cache
find . -name "__pycache__" -type d -exec rm -rf {} +
rm app/old_users.py
echo "DATABASE_URL=sqlite:///./dev.db" >> .env
export DATABASE_URL=sqlite:///./test.db && alembic upgrade head
alembic revision --autogenerate -m "add last_login to users"
alembic history | head
alembic downgrade -1
uvicorn app.main:app --reload --port 8000
uvicorn app.main:app --port 8001 > /tmp/uvicorn.log 2>&1 &
sleep 3 && curl -s http://localhost:8001/health
curl -s http://localhost:8000/api/users | python -m json.tool
curl -s -X POST http://localhost:8000/api/users -H 'Content-Type: application/json' -d '{"email":"a@example.com","password":"secret1"}'
curl -i -H "Authorization: Bearer $TOKEN" localhost:8000/api/me
curl -s -o /dev/null -w "%{http_code}\n" http://127.0.0.1:8000/docs
tail -50 /tmp/uvicorn.log
lsof -i :8000
kill %1
pkill -f uvicorn
ps aux | grep uvicorn | grep -v grep
docker compose up -d db
docker compose ps
docker compose logs --tail=50 db
docker compose exec db psql -U postgres -c "\dt"
psql "$DATABASE_URL" -c "select count(*) from users"
psql -h localhost -U postgres -d app -c "SELECT id, email FROM users ORDER BY id DESC LIMIT 5;"
sqlite3 dev.db ".schema users"
redis-cli ping
make test
make lint 2>&1 | tail -20
env | grep -i database
timeout 60 pytest tests/integration -q || true
pre-commit run --all-files
gh pr create --title "Paginate users" --body "Adds limit and offset to the user list."
"""

FRONT_END = r"""
pwd && ls
cat package.json
cat package.json | jq '.scripts'
ls src src/components src/hooks
cat tsconfig.json vite.config.ts
git status --short
git log --oneline | head -5
node --version && npm --version
npm ci
npm install
npm install --save-dev vitest @testing-library/react
npm i zod@3
pnpm install --frozen-lockfile
yarn add -D eslint-plugin-import
npm ls react
npm outdated
npm run build
npm run build 2>&1 | tail -20
npm test
npm test -- --run src/components/Button.test.tsx
npx vitest run
npx vitest run src/hooks --reporter=verbose 2>&1 | tail -40
npx jest --coverage --silent
npx tsc --noEmit
npx tsc --noEmit -p tsconfig.app.json 2>&1 | grep "error TS" | wc -l
npx eslint src --ext .ts,.tsx
npm run lint -- --fix
npx prettier --write "src/**/*.{ts,tsx}"
npx prettier --check .
npm run dev
npm run dev -- --port 5174 --host &
(npm run dev > /tmp/vite.log 2>&1 &) ; sleep 4; curl -sI http://localhost:5173 | head -1
npx playwright install chromium
npx playwright test e2e/login.spec.ts --project=chromium
npx storybook build -o /tmp/storybook
grep -rn "useEffect" src --include=*.tsx | head -30
rg "TODO|FIXME" src
rg -n --type ts "export (default )?function" src/lib
grep -n "interface Props" -A 8 src/components/Table.tsx
find src -name "*.test.ts*" | xargs wc -l | sort -n | tail
find . -path ./node_modules -prune -o -name "*.css" -print
cat src/components/Table.tsx | head -120
sed -n '100,180p' src/pages/Dashboard.tsx
awk 'NR>=20 && NR<=45' src/router.tsx
head -c 600 dist/assets/index-*.js
du -sh node_modules dist
ls -lh dist/assets | sort -k5 -h
node -e "console.log(require('./package.json').version)"
node scripts/generate-icons.mjs
npx tsx scripts/seed.ts
cat node_modules/react-router-dom/package.json | grep '"version"'
ls node_modules/.bin | grep -i vite
sed -i 's/"strict": false/"strict": true/' tsconfig.json
sed -i '' -e 's/React.FC/FC/g' src/components/*.tsx
perl -pi -e 's/\bvar\b/let/g' src/legacy/*.js
mkdir -p src/features/cart && mv src/Cart.tsx src/features/cart/Cart.tsx
git mv src/utils/formatDate.js src/utils/formatDate.ts
cp src/components/Button.tsx src/components/IconButton.tsx
rm -rf node_modules package-lock.json && npm install
rm -rf dist .vite
rm src/App.css
touch src/vite-env.d.ts
echo "VITE_API_URL=http://localhost:3000" > .env.local
cat .gitignore | grep env
git diff src/App.tsx
git diff --cached --stat
git add . && git commit -m "feat: cart badge" && git log -1 --stat
git commit --amend --no-edit
git checkout main -- package-lock.json
git checkout main && git pull
git switch -c fix/table-sort
git merge main
git rebase main
git stash list
git reset --soft HEAD~1
git clean -fd src/generated
git push
git push --force-with-lease origin fix/table-sort
gh pr view 132 --json title,body,files
gh run list --limit 5
gh run view 9182736455 --log-failed | tail -60
curl -s https://registry.npmjs.org/zod/latest | jq -r .version
curl -s localhost:3000/api/products | jq '.[0]'
kill $(lsof -t -i:5173)
npx kill-port 5173
diff <(npm ls --all 2>/dev/null) /tmp/before.txt
NODE_ENV=production npm run build && npx serve dist -l 4000
for f in src/components/*.tsx; do echo "$f: $(grep -c useState $f)"; done
npm pack --dry-run
npm audit --omit=dev
"""

COMMAND_LINE_TOOL = r"""
ls
cat Cargo.toml
cat src/main.rs
ls -R src | head -40
cargo --version; rustc --version
cargo build
cargo build --release 2>&1 | tail -5
cargo check 2>&1 | grep -E "^(error|warning)" | sort | uniq -c
cargo check --all-targets
cargo test
cargo test parser:: -- --nocapture
cargo test --test cli 2>&1 | tail -30
RUST_BACKTRACE=1 cargo test lexer_handles_unicode -- --exact
cargo clippy --all-targets -- -D warnings
cargo fmt && cargo fmt --check
cargo add clap --features derive
cargo update -p serde
cargo tree -i syn | head
cargo run -- --help
cargo run --quiet -- parse examples/basic.toml
echo '{"a": 1}' | cargo run -q -- --stdin
cargo bench --bench parse
cargo doc --no-deps
cargo install --path .
cargo clean
./target/debug/tool --version
time ./target/release/tool count testdata/large.txt
./target/release/tool diff a.txt b.txt; echo "exit: $?"
hyperfine './target/release/tool count testdata/large.txt'
go version
go mod tidy
go mod download
go get github.com/spf13/cobra@latest
go build ./...
go build -o bin/tool ./cmd/tool && ./bin/tool --help
go vet ./...
go test ./...
go test ./internal/parser -run TestParseNested -v
go test -race -count=1 ./... 2>&1 | grep -v "no test files"
go test -bench=. -benchmem ./internal/parser
go test -coverprofile=/tmp/cover.out ./... && go tool cover -func=/tmp/cover.out | tail -1
gofmt -l .
gofmt -w internal/
goimports -w cmd/tool/main.go
golangci-lint run
go run ./cmd/tool -config testdata/config.yaml
go generate ./...
go list -m all | head
go doc net/http.Server
go env GOPATH GOMODCACHE
grep -rn "unwrap()" src | grep -v test
grep -rn "func (p \*Parser)" internal/parser/
rg "impl .* for Token" -n
rg -n 'todo!|unimplemented!' src
sed -n '200,260p' src/parser.rs
head -50 internal/parser/parser.go
find . -name '*.rs' -newer Cargo.lock
find internal -name "*_test.go" -exec grep -l "t.Parallel" {} \;
wc -l src/*.rs | tail -1
cat ~/.cargo/registry/src/*/clap-4*/Cargo.toml | head -20
ls ~/go/pkg/mod/github.com/spf13
sed -i 's/pub(crate) fn/pub fn/' src/lexer.rs
sed -i '/^use std::io;$/d' src/main.rs
mkdir -p testdata/golden
printf 'a\nb\nc\n' > testdata/three.txt
./bin/tool list testdata > testdata/golden/list.txt
diff -u testdata/golden/list.txt <(./bin/tool list testdata)
cp -r testdata /tmp/testdata-copy
rm -f testdata/golden/*.tmp
rm -rf target/debug/incremental
mv src/util.rs src/text.rs && sed -i 's/mod util;/mod text;/' src/main.rs
chmod +x scripts/release.sh
bash -n scripts/release.sh && shellcheck scripts/release.sh
git status && git diff --stat
git diff main...HEAD
git log --oneline --graph --all | head -20
git log -S"fn tokenize" --oneline -- src
git add -p src/lexer.rs
git commit -am "lexer: accept escaped quotes"
git tag -a v0.4.0 -m "v0.4.0"
git push origin v0.4.0
git worktree add ../tool-fix main
git bisect start HEAD v0.3.0
git cherry-pick 3f2a91c
git checkout -
strace -c ./target/debug/tool count testdata/large.txt 2>&1 | tail -15
ldd target/release/tool
file bin/tool && ls -lh bin/tool
gdb -batch -ex run -ex bt --args ./target/debug/tool crash.txt
valgrind --leak-check=full ./target/debug/tool a.txt 2>&1 | tail
rustup component add clippy
GOOS=linux GOARCH=arm64 go build -o bin/tool-arm64 ./cmd/tool
make && make install PREFIX=/tmp/out
"""

OPERATIONS = r"""
ls -la && git log --oneline -5
find . -type f -name "*.yml" -o -name "*.yaml" | head -40
cat docker-compose.yml
cat .github/workflows/ci.yml
cat docs/runbook.md | head -100
grep -rn "image:" k8s/ | sort -u
grep -rn "TODO" docs
rg -n "us-east-1" --hidden -g '!.git'
yamllint .
python3 -c "import yaml,sys; yaml.safe_load(open('.github/workflows/ci.yml'))" && echo valid
yq '.services | keys' docker-compose.yml
jq . config/app.json > /dev/null && echo ok
jq '.version = "1.4.0"' package.json > tmp.json && mv tmp.json package.json
terraform fmt -recursive
terraform init -backend=false
terraform validate
terraform plan -out=/tmp/plan.tfplan
terraform show -json /tmp/plan.tfplan | jq '.resource_changes[].change.actions'
terraform state list
terraform apply -auto-approve
kubectl get pods -n staging
kubectl describe pod api-7d9c8b6f5-x2x9z -n staging | tail -30
kubectl logs deploy/api -n staging --tail=100
kubectl apply -f k8s/staging/
kubectl diff -f k8s/staging/deployment.yaml
kubectl rollout status deploy/api -n staging
kubectl delete pod api-7d9c8b6f5-x2x9z -n staging
helm template charts/api -f charts/api/values-staging.yaml | head -80
helm lint charts/api
helm upgrade --install api charts/api -n staging -f charts/api/values-staging.yaml
docker build -t api:dev .
docker build -t api:dev . 2>&1 | tail -20
docker run --rm -p 8080:8080 api:dev
docker run --rm -it -v "$PWD":/work -w /work python:3.12 bash
docker ps -a
docker images | head
docker logs --tail 100 api
docker exec -it api sh -c 'cat /etc/nginx/nginx.conf'
docker compose config -q
docker compose down -v
docker system prune -f
docker stop $(docker ps -q)
ansible-playbook -i inventory/staging site.yml --check --diff
ansible-lint playbooks/
aws s3 ls s3://example-backups/2024/
aws ec2 describe-instances --query 'Reservations[].Instances[].InstanceId' --output text
aws s3 cp dist/ s3://example-site/ --recursive
gcloud config list
ssh deploy@staging.example.com 'systemctl status api'
ssh deploy@staging.example.com "tail -n 100 /var/log/api/error.log"
scp build/app.tar.gz deploy@staging.example.com:/srv/app/
rsync -avz --delete site/ deploy@www.example.com:/var/www/site/
rsync -an --itemize-changes docs/ /tmp/docs-copy/
journalctl -u nginx --since "1 hour ago" --no-pager | tail -50
systemctl status nginx
sudo systemctl restart nginx
sudo nginx -t
sudo apt-get update && sudo apt-get install -y jq
apt list --installed 2>/dev/null | grep -i openssl
df -h
free -m
uptime
ss -tlnp | grep -E ':(80|443|8080)'
dig +short example.com
curl -sI https://example.com | head -5
curl -fsSL https://get.example.com/install.sh | sh
curl -sS https://api.github.com/repos/psf/requests/releases/latest | jq -r .tag_name
curl -X POST -H 'Content-type: application/json' --data '{"text":"deploy done"}' "$SLACK_WEBHOOK_URL"
wget -q https://example.com/files/schema.json -O /tmp/schema.json
openssl x509 -in certs/staging.pem -noout -enddate -subject
openssl s_client -connect example.com:443 -servername example.com </dev/null 2>/dev/null | openssl x509 -noout -dates
pg_dump -h localhost -U app app > /tmp/app.sql
psql -h localhost -U app -d app -f migrations/012_index.sql
psql -U app app -c "DROP TABLE IF EXISTS tmp_import"
mysql -u root -e "show databases;"
tar czf build/app.tar.gz -C dist .
tar tzf build/app.tar.gz | head
unzip -l release.zip
gunzip -c logs/access.log.gz | awk '{print $9}' | sort | uniq -c | sort -rn | head
awk -F: '{print $1}' /etc/passwd | head -3
cut -d, -f1,3 data/hosts.csv | column -t -s,
sort -u hosts.txt -o hosts.txt
while read h; do ping -c1 -W1 "$h" >/dev/null && echo "$h up"; done < hosts.txt
bash -x scripts/deploy.sh --dry-run 2>&1 | head -40
shellcheck scripts/*.sh
chmod 600 keys/deploy.pem
chmod -R g+w shared/
chown -R app:app /srv/app
ln -s ../configs/staging.env .env
ln -sf /srv/app/releases/42 /srv/app/current
crontab -l
mkdocs build --strict
mkdocs serve -a 127.0.0.1:8001
npx markdownlint-cli2 "docs/**/*.md"
pandoc docs/guide.md -o build/guide.pdf
vale docs/
lychee --offline docs
find docs -name "*.md" -exec grep -Hn "](http://" {} \;
sed -i 's#http://docs.example.com#https://docs.example.com#g' docs/*.md
sed -i.bak 's/^replicas: 2/replicas: 3/' k8s/staging/deployment.yaml && rm k8s/staging/deployment.yaml.bak
git diff --check
git diff --word-diff docs/runbook.md
git log --since="2 weeks ago" --author="$(git config user.name)" --oneline
git add docs && git commit -m "docs: say how to roll back"
git push origin HEAD
git remote -v
git fetch --all --prune
git branch --merged main | grep -v main | xargs -r git branch -d
git branch -D old-runbook
git reset --hard origin/main
git config --get remote.origin.url
gh issue list --label ops --limit 20
gh pr checks
gh workflow run deploy.yml -f env=staging
gh release create v1.4.0 --notes-file CHANGELOG.md
env | sort | head -20
date -u +%Y-%m-%dT%H:%M:%SZ
hostname && whoami && id
"""

DOCUMENTS = (
    """cat > tests/test_pagination.py <<'EOF'
def test_limit(client):
    response = client.get("/api/users?limit=2")
    assert response.status_code == 200
    assert len(response.json()) == 2
EOF""",
    """python3 - <<'EOF'
from pathlib import Path

path = Path("app/api/users.py")
text = path.read_text()
text = text.replace("limit: int = 100", "limit: int = 50")
path.write_text(text)
EOF""",
    """cat << 'EOF' > src/features/cart/total.ts
export const total = (items: { price: number; count: number }[]): number =>
  items.reduce((sum, item) => sum + item.price * item.count, 0);
EOF
npx tsc --noEmit""",
    """git commit -q -F - <<'EOF'
parser: accept trailing commas

They are common in hand-written files.
EOF""",
    """cat >> Makefile <<'EOF'

.PHONY: lint
lint:
\tgolangci-lint run
EOF""",
    """psql "$DATABASE_URL" <<'SQL'
select state, count(*) from jobs group by state;
SQL""",
    """cat > /tmp/try.py <<'EOF'
import asyncio
from app.services.mail import render

print(asyncio.run(render("welcome", {"name": "Ann"})))
EOF
python /tmp/try.py""",
    """node --input-type=module <<'EOF'
import { parse } from "./src/parse.js";
console.log(parse("a=1"));
EOF""",
    """git commit -m "$(cat <<'EOF'
Fix sorting of the table

Numbers were compared as text.
EOF
)"
""",
    """for i in 1 2 3; do
  curl -s -o /dev/null -w '%{time_total}\\n' http://localhost:8000/api/users
done""",
)

PROJECTS: dict[str, tuple[str, ...]] = {
    "web service": tuple(WEB_SERVICE.strip().splitlines()),
    "front end": tuple(FRONT_END.strip().splitlines()),
    "command-line tool": tuple(COMMAND_LINE_TOOL.strip().splitlines()),
    "operations and docs": tuple(OPERATIONS.strip().splitlines()),
    "with here-documents": DOCUMENTS,
}
"""The lines of each project."""
