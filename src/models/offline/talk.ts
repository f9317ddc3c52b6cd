/** Small talk that is answered without asking anybody, in the order of the answers. */
export const TALK_KINDS = [
  'greeting',
  'well-being',
  'thanks',
  'farewell',
  'assent',
  'identity',
  'abilities',
  'opinion',
] as const;
export type TalkKind = (typeof TALK_KINDS)[number];

const LONGEST_CHARACTERS = 120;

const SAYINGS: readonly (readonly [kind: TalkKind, pattern: RegExp])[] = [
  [
    'greeting',
    /^(hi|hello|hey|yo|howdy|greetings|welcome|good (morning|afternoon|evening|day)|hallo|hola|bonjour|ciao|guten (morgen|tag|abend)|moin|servus|안녕|안녕하세요|你好|こんにちは)( \S{1,20})?$/,
  ],
  [
    'well-being',
    /^(how are you( doing)?( today)?|how do you do|how( i|')s it going|what('s| is) up|wie geht('s| es)( dir| ihnen)?|잘 지내(세요|요)?)$/,
  ],
  [
    'thanks',
    /^(many |ok |okay )?(thanks|thank you|thx|cheers|danke|merci|gracias|고마워|고맙습니다|감사합니다)( \S{1,20}){0,4}$/,
  ],
  [
    'farewell',
    /^(bye|bye bye|goodbye|good ?night|see you( later| soon)?|farewell|ciao|tschüss|auf wiedersehen|안녕히 (계세요|가세요))$/,
  ],
  [
    'assent',
    /^(ok|okay|yes|yeah|yep|no|nope|sure|fine|great|nice|cool|perfect|awesome|wow|good|well done|good job|very (good|nice)|never ?mind|cancel|stop|forget it|(that|this|it)('s| is| was| looks) (really |very |so )?(good|great|nice|cool|perfect|awesome|fine|helpful)|ja|nein|gut|네|아니요)$/,
  ],
  [
    'identity',
    /^((can|could) you )?(tell me |say )?(who|what) (exactly )?(are|r) (you|u)( exactly)?$|^(tell me |say )?(who|what) you are$|^what('s| is) your name$|^introduce yourself$|^tell me (something )?about yourself$|^(what|which) (ai |kind of |language )?(model|llm|ai) (are you|is this|do you use)( using| running)?$|^wer (bist du|sind sie)$|^(너는 |당신은 )?누구(야|세요|입니까|인가요)$/,
  ],
  [
    'identity',
    /^are you (an? )?((real|large|offline) )?(ai|bot|robot|machine|person|human( being)?|real|llm|model|language model|claude|gpt|chatgpt|lango|intelligent)$/,
  ],
  [
    'abilities',
    /^(help( me)?|((can|could) you )?(tell me |show me )?what (can you|you can|can i|could you) (do|ask|say|help)\b.*|what (are|is) your (skill|abilit|capabilit|command|option|feature)\w*|what do you (do|know|understand)|(and )?what else( can you do)?|how (can|could|do) (you help( me)?|i use (you|this))|how does (this|it) work|(show|list|tell)( me)? (your|the) (abilities|capabilities|commands|options|features|agents|tools)|(what|which) (agents|tools|commands|functions|capabilities) (are there|do you (have|know)|can you (use|delegate to)|exist)|was (kannst du|können sie)( \S{1,20}){0,2}|hilfe|무엇을 할 수 있(나요|어요|습니까|어|니)|뭘 할 수 있(나요|어요|어|니)|도와줘)$/,
  ],
  [
    'opinion',
    /^(what do you think|do you (like|love|hate|think|believe|prefer|enjoy|feel|agree)|what('s| is| are) your (favou?rite|opinion|view|thought)|which (one )?do you (like|prefer)|how do you feel|are you (happy|sad|tired|bored|okay|ok|conscious|alive)|((can|could) you )?(tell|write|compose|sing|make up|give)( me)? (a|an|another|some) (\S{1,20} )?(joke|story|poem|song|haiku|limerick|essay|riddle)\b|i (like|love|hate|think|believe|feel|am|was|agree)\b|i'm )/,
  ],
];

const QUESTION =
  /^(who|whom|whose|what|when|where|why|how|which|is|are|was|were|do|does|did|can|could|should|would|will|has|have|explain|define)\b|^(what|who|where|how|when)('s|s)\b|^(tell me|do you know|i wonder) /;

/** The kind of small talk a sentence is; undefined for anything else. */
export function smallTalk(sentence: string): TalkKind | undefined {
  const plain = plainText(sentence);
  if (plain === undefined) return undefined;
  return SAYINGS.find(([, pattern]) => pattern.test(plain))?.[0];
}

/** Whether a person would take it for a question of fact. */
export function isQuestion(sentence: string): boolean {
  return (
    sentence.trimEnd().endsWith('?') || QUESTION.test(sentence.slice(0, LONGEST_CHARACTERS).toLowerCase())
  );
}

/** Whether the person takes the request back. */
export function isWithdrawal(sentence: string): boolean {
  return /^(never ?mind|cancel|stop|forget it|no)$/.test(plainText(sentence) ?? '');
}

function plainText(sentence: string): string | undefined {
  if (sentence.length > LONGEST_CHARACTERS) return undefined;
  return sentence
    .toLowerCase()
    .replace(/[’`]/g, "'")
    .replace(/[^\p{L}\p{N}\p{M}' ]/gu, ' ')
    .replace(/\s+/g, ' ')
    .replace(/^ | $/g, '')
    .replace(/^(please|so|and|well|hey|ok|okay) (?=\S+ )/, '');
}
