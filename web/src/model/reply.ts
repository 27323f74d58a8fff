// What a terminal answers by itself, apart from what a person typed: both come out of it the same way.

// Device attributes, status, modes, colours, sizes, settings; and reports of focus, which are not typed either.
const REPLY =
  /^(?:\x1b\[[?>=][\d;]*c|\x1b\[\??[\d;]*n|\x1b\[\??\d+;\d+\$y|\x1b\](?:4|10|11|12);[^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP[\s\S]*\x1b\\|\x1b\[[468];\d+;\d+t|\x1b\[[IO])+$/;
const CURSOR = /^\x1b\[\??\d+;\d+R$/;

// `asked` says whether a program asked for the cursor's place: the answer has the form of a function key.
export function isReply(data: string, asked: boolean): boolean {
  return REPLY.test(data) || (asked && CURSOR.test(data));
}
