// Tokens of each text of a JSON list on standard input, by o200k_base: what looks like a special token is text.
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

let input = ''
for await (const piece of process.stdin) input += piece
const asText = { allowedSpecial: new Set(), disallowedSpecial: new Set() }
console.log(JSON.stringify(JSON.parse(input).map(text => countTokens(text, asText))))
