/**
 * The entries of the knowledge bench, the same in every run: words with the frequencies of a language, and some planted
 * words.
 */
export interface BenchEntry {
  readonly key: string;
  readonly content: string;
}

/** Random numbers from 0 (included) to 1 (excluded), the same for the same seed. */
export type Dice = () => number;

const SYLLABLES = 'ka ro mi te lu sa no vi da pe gu zo ne fi ba ti xu le or an'.split(' ');
const VOCABULARY = 30_000;
const WORDS = 55;
/** Words that are in every entry. */
const EVERYWHERE = ['server', 'status', 'report'];
const KOREAN =
  '배포 서버 설정 키는 매주 금요일 교체 결제 모듈 오류 로그 확인 담당자 회의 일정 변경 고객 요청'.split(' ');
const CHINESE = [...'部署密钥每周五轮换服务器设置支付模块错误日志检查负责人会议日程变更客户请求处理完成'];
const THINGS = 'user order payment invoice session token cache queue mail tax'.split(' ');
const ROLES = 'Service Client Handler Store Config Factory Parser Router Worker Codec'.split(' ');
/** One in so many entries has planted words. */
const PLANTED_EVERY = 1_000;

export function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

function pick<Item>(items: readonly Item[], dice: Dice): Item {
  return items[Math.floor(dice() * items.length)]!;
}

/** The n-th most frequent word. */
export function wordOf(rank: number): string {
  let word = '';
  for (let rest = rank + SYLLABLES.length; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) {
    word += SYLLABLES[rest % SYLLABLES.length];
  }
  return word;
}

/** The n-th entry. Of ten entries one also has Korean, one Chinese, and two names in code. */
export function entryOf(index: number, dice: Dice): BenchEntry {
  const words = Array.from({ length: WORDS }, () => wordOf(frequentRank(dice)));
  words.splice(3, 0, ...EVERYWHERE);
  const kind = index % 10;
  if (kind === 1) words.push(...Array.from({ length: 30 }, () => pick(KOREAN, dice)));
  if (kind === 2) words.push(Array.from({ length: 60 }, () => pick(CHINESE, dice)).join(''));
  if (kind === 3 || kind === 4) words.push(...Array.from({ length: 8 }, () => codeName(dice)));
  if (index % PLANTED_EVERY === 0) words.push(...Object.values(plantedIn(index)));
  return { key: `note ${wordOf(frequentRank(dice))} ${index}`, content: `${words.join(' ')}.` };
}

/** An entry with words that only it has. */
export function plantedIndex(entries: number, dice: Dice): number {
  return Math.floor((dice() * entries) / PLANTED_EVERY) * PLANTED_EVERY;
}

/** Words that no other entry has, or almost none. */
export function plantedIn(index: number) {
  const number = index / PLANTED_EVERY;
  const word = `zy${wordOf(number)}`;
  const capital = word[0]!.toUpperCase() + word.slice(1);
  return {
    word,
    korean: `우주선${syllables(0xac00, number)}`,
    chinese: `黄鹤${syllables(0x5000, number)}`,
    name: `parse${capital}Frame`,
  } as const;
}

export function codeName(dice: Dice): string {
  const thing = pick(THINGS, dice);
  return `${pick(THINGS, dice)}${pick(ROLES, dice)}${thing[0]!.toUpperCase()}${thing.slice(1)}`;
}

/** Chooses frequent words far more often than others, as in every language. */
function frequentRank(dice: Dice): number {
  return Math.floor(VOCABULARY ** dice()) - 1;
}

function syllables(first: number, number: number): string {
  return String.fromCodePoint(first + 7 * (number % 300), first + 11 * Math.floor(number / 300) + 3);
}
