/**
 * The script that Lango runs inside a page, in an isolated world where the scripts of the page can neither see nor
 * change it. Both share the document, so every result is still untrusted page content. It is plain JavaScript because
 * the browser compiles it. The script bounds every result before it leaves the page.
 */
export const PAGE_SCRIPT = String.raw`
globalThis.lango ??= (() => {
  const SELECTOR = 'a[href],button,input:not([type=hidden]),select,textarea,summary,iframe,frame,[onclick],' +
    '[contenteditable=""],[contenteditable=true],[role=button],[role=link],[role=checkbox],[role=radio],[role=tab],' +
    '[role=menuitem],[role=option],[role=switch],[role=combobox],[role=textbox],[role=searchbox]';
  const ROOTS_MAX = 200, FOUND_MAX = 5000, LABEL_MAX = 100, URL_MAX = 500, HTML_MAX = 1000000;
  const byNumber = new Map(), numbers = new WeakMap();
  let last = 0, changedAt = performance.now();
  new MutationObserver(() => { changedAt = performance.now(); })
    .observe(document, { childList: true, characterData: true, subtree: true });
  const cut = (text, length) => text.length > length ? text.slice(0, length) + '…' : text;
  const clean = (text) => cut(String(text ?? '').replace(/\s+/g, ' ').trim(), LABEL_MAX);

  const numberOf = (element) => {
    let number = numbers.get(element);
    if (number === undefined) {
      number = ++last;
      numbers.set(element, number);
      byNumber.set(number, new WeakRef(element));
    }
    return number;
  };
  const isVisible = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 &&
      element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  };
  const roots = () => {
    const found = [document];
    for (let index = 0; index < found.length && found.length < ROOTS_MAX; index += 1) {
      const walker = document.createTreeWalker(found[index], NodeFilter.SHOW_ELEMENT);
      for (let steps = 0; steps < 100000 && walker.nextNode(); steps += 1) {
        const inner = walker.currentNode.shadowRoot;
        if (inner && found.length < ROOTS_MAX) found.push(inner);
      }
    }
    return found;
  };
  const textOfIds = (element, ids) => ids.split(/\s+/)
    .map((id) => element.getRootNode().getElementById?.(id)?.textContent ?? '').join(' ');
  const nameOf = (element) => clean(
    element.getAttribute('aria-label') ||
    textOfIds(element, element.getAttribute('aria-labelledby') ?? '').trim() ||
    Array.from(element.labels ?? []).map((label) => label.innerText).join(' ') ||
    (/^(submit|reset|button)$/.test(element.type ?? '') && element.value) ||
    (element.matches('input,select,textarea') ? '' : (element.innerText ?? '').slice(0, 500)) ||
    element.getAttribute('placeholder') || element.getAttribute('alt') || element.title ||
    element.querySelector?.('img[alt]')?.alt || element.getAttribute('name'));
  const kindOf = (element) => {
    const tag = element.localName;
    const role = element.getAttribute('role');
    if (tag === 'iframe' || tag === 'frame') return 'frame';
    if (role) return role.slice(0, 20);
    if (tag === 'a') return 'link';
    if (tag === 'input') {
      const type = element.type;
      return /^(submit|reset|button|image)$/.test(type) ? 'button' : type === 'text' ? 'textbox' : type;
    }
    return { textarea: 'textbox', select: 'select', summary: 'summary', button: 'button' }[tag] ?? tag;
  };
  const stateOf = (element) => {
    const state = {};
    if (element.disabled || element.getAttribute('aria-disabled') === 'true') state.disabled = true;
    if (element.readOnly) state.readonly = true;
    const checked = isChecked(element);
    if (checked !== undefined) state.checked = checked;
    if (element.localName === 'select') {
      state.value = clean(element.selectedOptions[0]?.label);
      state.options = Array.from(element.options).slice(0, 30).map((option) => clean(option.label));
    } else if (element.matches('textarea,input') && !/^(submit|reset|button|checkbox|radio|file)$/.test(element.type)) {
      state.value = element.type === 'password' ? (element.value ? '(hidden)' : '') : clean(element.value);
    }
    const address = element.localName === 'a' ? element.href : /^(i?frame)$/.test(element.localName) ? element.src : '';
    if (address) state.url = cut(address, URL_MAX);
    return state;
  };
  const isChecked = (element) => {
    if (element.matches('input[type=checkbox],input[type=radio]')) return element.checked;
    const value = element.getAttribute('aria-checked');
    return value === null ? undefined : value === 'true';
  };

  const onElement = (act) => (number, value) => {
    const element = byNumber.get(number)?.deref();
    return element?.isConnected ? act(element, value) : { problem: 'gone' };
  };
  const pointOf = (element) => {
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const box = Array.from(element.getClientRects()).find((rect) => rect.width > 0 && rect.height > 0);
    if (!box) return undefined;
    const within = (value, most) => Math.min(Math.max(value, 0), most - 1);
    return { x: within(box.x + box.width / 2, innerWidth), y: within(box.y + box.height / 2, innerHeight) };
  };
  const deepestAt = ({ x, y }) => {
    let found = document.elementFromPoint(x, y);
    while (found?.shadowRoot) {
      const inner = found.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === found) break;
      found = inner;
    }
    return found;
  };
  const isWithin = (inner, outer) => {
    for (let node = inner; node; node = node.parentNode ?? node.host) if (node === outer) return true;
    return false;
  };
  const focused = () => {
    let found = document.activeElement;
    while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found;
  };
  const fire = (element) => {
    element.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    element.dispatchEvent(new Event('change', { bubbles: true }));
  };
  const isEditable = (element) => element.isContentEditable || element.localName === 'textarea' ||
    (element.localName === 'input' && !/^(submit|reset|button|image|checkbox|radio|file|hidden)$/.test(element.type));
  const windowOf = (length, offset, count) => ({ total: length, from: offset, to: Math.min(length, offset + count) });

  return {
    info: () => ({ title: clean(document.title), height: Math.ceil(document.documentElement?.scrollHeight ?? 0),
      width: innerWidth }),
    stillFor: () => performance.now() - changedAt,
    observe(offset, count) {
      const all = [];
      for (const root of roots()) {
        for (const element of root.querySelectorAll(SELECTOR)) {
          if (all.length >= FOUND_MAX) break;
          if (isVisible(element)) all.push(element);
        }
      }
      const range = windowOf(all.length, offset, count);
      const elements = all.slice(range.from, range.to).map((element) => (
        { number: numberOf(element), kind: kindOf(element), name: nameOf(element), ...stateOf(element) }));
      return { ...range, elements };
    },
    text(offset, count) {
      const whole = (document.body ?? document.documentElement)?.innerText ?? '';
      const range = windowOf(whole.length, offset, count);
      return { ...range, text: whole.slice(range.from, range.to) };
    },
    links(offset, count) {
      const seen = new Map();
      for (const root of roots()) {
        for (const link of root.querySelectorAll('a[href],area[href]')) {
          if (!/^https?:/.test(link.protocol)) continue;
          const url = cut(link.href, 2000);
          const text = clean(link.innerText || link.getAttribute('aria-label') || link.title || link.querySelector('img[alt]')?.alt);
          if (!seen.get(url)) seen.set(url, text);
          if (seen.size >= FOUND_MAX) break;
        }
      }
      const all = Array.from(seen, ([url, text]) => ({ url, text }));
      const range = windowOf(all.length, offset, count);
      return { ...range, links: all.slice(range.from, range.to) };
    },
    html() {
      const copy = (document.body ?? document.documentElement)?.cloneNode(true);
      if (!copy) return { html: '', isCut: false };
      for (const gone of copy.querySelectorAll('script,style,noscript,template,svg,iframe,object,embed')) gone.remove();
      for (const link of copy.querySelectorAll('a[href]')) link.setAttribute('href', link.href);
      for (const image of copy.querySelectorAll('img')) {
        if (/^https?:/.test(image.src)) image.setAttribute('src', image.src);
        else image.remove();
      }
      const html = copy.innerHTML;
      return { html: html.slice(0, HTML_MAX), isCut: html.length > HTML_MAX };
    },
    article(Readability) {
      const found = new Readability(document.cloneNode(true), { maxElemsToParse: 50000 }).parse();
      if (!found) return undefined;
      const html = found.content ?? '';
      const about = { title: found.title, byline: found.byline, site: found.siteName, published: found.publishedTime };
      for (const name in about) about[name] = clean(about[name]);
      return { html: html.slice(0, HTML_MAX), isCut: html.length > HTML_MAX, about };
    },
    point: onElement((element, opensHere) => {
      if (element.disabled) return { problem: 'disabled' };
      const point = pointOf(element);
      if (!point) return { problem: 'hidden' };
      const hit = deepestAt(point);
      const isHit = hit && (isWithin(hit, element) || Array.from(element.labels ?? []).some((label) => isWithin(hit, label)));
      if (!isHit) return { problem: 'covered', by: hit ? clean(hit.localName + ' ' + (hit.id || hit.innerText || '')) : 'nothing' };
      const link = element.closest('a,area,form') ?? element.form;
      for (const opener of [link, element.form]) if (opensHere && opener?.target) opener.target = '_self';
      if (element.formTarget) element.formTarget = '_self';
      return { ...point, checked: isChecked(element) };
    }),
    checked: onElement((element) => ({ checked: isChecked(element) })),
    focus: onElement((element, replaces) => {
      if (element.disabled || (replaces && element.readOnly)) return { problem: 'disabled' };
      if (replaces && !isEditable(element)) return { problem: 'not-editable' };
      element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
      element.focus();
      if (replaces && focused() !== element) return { problem: 'not-editable' };
      if (replaces && element.isContentEditable) getSelection().selectAllChildren(element);
      else if (replaces) element.select?.();
      return { isPassword: element.type === 'password', isPicker: /^(date|time|month|week|datetime-local|color|range)$/.test(element.type ?? '') };
    }),
    put: onElement((element, value) => {
      element.value = value;
      fire(element);
      return element.value === value ? {} : { problem: 'refused' };
    }),
    select: onElement((element, value) => {
      if (element.localName !== 'select') return { problem: 'not-select' };
      if (element.disabled) return { problem: 'disabled' };
      const wanted = value.trim().toLowerCase();
      const options = Array.from(element.options);
      const option = options.find((each) => each.value === value || each.label.trim() === value) ??
        options.find((each) => each.label.trim().toLowerCase() === wanted);
      if (!option) return { problem: 'no-option', by: options.slice(0, 30).map((each) => clean(each.label)).join(', ') };
      element.focus();
      element.value = option.value;
      option.selected = true;
      fire(element);
      return {};
    }),
  };
})();`;
