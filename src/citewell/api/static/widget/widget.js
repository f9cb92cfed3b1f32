var e=globalThis,t=e.ShadowRoot&&(e.ShadyCSS===void 0||e.ShadyCSS.nativeShadow)&&`adoptedStyleSheets`in Document.prototype&&`replace`in CSSStyleSheet.prototype,n=Symbol(),r=new WeakMap,i=class{constructor(e,t,r){if(this._$cssResult$=!0,r!==n)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=t}get styleSheet(){let e=this.o,n=this.t;if(t&&e===void 0){let t=n!==void 0&&n.length===1;t&&(e=r.get(n)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),t&&r.set(n,e))}return e}toString(){return this.cssText}},a=e=>new i(typeof e==`string`?e:e+``,void 0,n),o=(e,...t)=>new i(e.length===1?e[0]:t.reduce((t,n,r)=>t+(e=>{if(!0===e._$cssResult$)return e.cssText;if(typeof e==`number`)return e;throw Error(`Value passed to 'css' function must be a 'css' function result: `+e+`. Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.`)})(n)+e[r+1],e[0]),e,n),s=(n,r)=>{if(t)n.adoptedStyleSheets=r.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(let t of r){let r=document.createElement(`style`),i=e.litNonce;i!==void 0&&r.setAttribute(`nonce`,i),r.textContent=t.cssText,n.appendChild(r)}},c=t?e=>e:e=>e instanceof CSSStyleSheet?(e=>{let t=``;for(let n of e.cssRules)t+=n.cssText;return a(t)})(e):e,{is:l,defineProperty:u,getOwnPropertyDescriptor:d,getOwnPropertyNames:f,getOwnPropertySymbols:p,getPrototypeOf:m}=Object,h=globalThis,ee=h.trustedTypes,te=ee?ee.emptyScript:``,ne=h.reactiveElementPolyfillSupport,g=(e,t)=>e,re={toAttribute(e,t){switch(t){case Boolean:e=e?te:null;break;case Object:case Array:e=e==null?e:JSON.stringify(e)}return e},fromAttribute(e,t){let n=e;switch(t){case Boolean:n=e!==null;break;case Number:n=e===null?null:Number(e);break;case Object:case Array:try{n=JSON.parse(e)}catch{n=null}}return n}},ie=(e,t)=>!l(e,t),ae={attribute:!0,type:String,converter:re,reflect:!1,useDefault:!1,hasChanged:ie};Symbol.metadata??=Symbol(`metadata`),h.litPropertyMetadata??=new WeakMap;var _=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,t=ae){if(t.state&&(t.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((t=Object.create(t)).wrapped=!0),this.elementProperties.set(e,t),!t.noAccessor){let n=Symbol(),r=this.getPropertyDescriptor(e,n,t);r!==void 0&&u(this.prototype,e,r)}}static getPropertyDescriptor(e,t,n){let{get:r,set:i}=d(this.prototype,e)??{get(){return this[t]},set(e){this[t]=e}};return{get:r,set(t){let a=r?.call(this);i?.call(this,t),this.requestUpdate(e,a,n)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??ae}static _$Ei(){if(this.hasOwnProperty(g(`elementProperties`)))return;let e=m(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(g(`finalized`)))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(g(`properties`))){let e=this.properties,t=[...f(e),...p(e)];for(let n of t)this.createProperty(n,e[n])}let e=this[Symbol.metadata];if(e!==null){let t=litPropertyMetadata.get(e);if(t!==void 0)for(let[e,n]of t)this.elementProperties.set(e,n)}this._$Eh=new Map;for(let[e,t]of this.elementProperties){let n=this._$Eu(e,t);n!==void 0&&this._$Eh.set(n,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let t=[];if(Array.isArray(e)){let n=new Set(e.flat(1/0).reverse());for(let e of n)t.unshift(c(e))}else e!==void 0&&t.push(c(e));return t}static _$Eu(e,t){let n=t.attribute;return!1===n?void 0:typeof n==`string`?n:typeof e==`string`?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,t=this.constructor.elementProperties;for(let n of t.keys())this.hasOwnProperty(n)&&(e.set(n,this[n]),delete this[n]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return s(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,t,n){this._$AK(e,n)}_$ET(e,t){let n=this.constructor.elementProperties.get(e),r=this.constructor._$Eu(e,n);if(r!==void 0&&!0===n.reflect){let i=(n.converter?.toAttribute===void 0?re:n.converter).toAttribute(t,n.type);this._$Em=e,i==null?this.removeAttribute(r):this.setAttribute(r,i),this._$Em=null}}_$AK(e,t){let n=this.constructor,r=n._$Eh.get(e);if(r!==void 0&&this._$Em!==r){let e=n.getPropertyOptions(r),i=typeof e.converter==`function`?{fromAttribute:e.converter}:e.converter?.fromAttribute===void 0?re:e.converter;this._$Em=r;let a=i.fromAttribute(t,e.type);this[r]=a??this._$Ej?.get(r)??a,this._$Em=null}}requestUpdate(e,t,n,r=!1,i){if(e!==void 0){let a=this.constructor;if(!1===r&&(i=this[e]),n??=a.getPropertyOptions(e),!((n.hasChanged??ie)(i,t)||n.useDefault&&n.reflect&&i===this._$Ej?.get(e)&&!this.hasAttribute(a._$Eu(e,n))))return;this.C(e,t,n)}!1===this.isUpdatePending&&(this._$ES=this._$EP())}C(e,t,{useDefault:n,reflect:r,wrapped:i},a){n&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,a??t??this[e]),!0!==i||a!==void 0)||(this._$AL.has(e)||(this.hasUpdated||n||(t=void 0),this._$AL.set(e,t)),!0===r&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[e,t]of this._$Ep)this[e]=t;this._$Ep=void 0}let e=this.constructor.elementProperties;if(e.size>0)for(let[t,n]of e){let{wrapped:e}=n,r=this[t];!0!==e||this._$AL.has(t)||r===void 0||this.C(t,void 0,n,r)}}let e=!1,t=this._$AL;try{e=this.shouldUpdate(t),e?(this.willUpdate(t),this._$EO?.forEach(e=>e.hostUpdate?.()),this.update(t)):this._$EM()}catch(t){throw e=!1,this._$EM(),t}e&&this._$AE(t)}willUpdate(e){}_$AE(e){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(e){}firstUpdated(e){}};_.elementStyles=[],_.shadowRootOptions={mode:`open`},_[g(`elementProperties`)]=new Map,_[g(`finalized`)]=new Map,ne?.({ReactiveElement:_}),(h.reactiveElementVersions??=[]).push(`2.1.2`);var oe=globalThis,se=e=>e,ce=oe.trustedTypes,le=ce?ce.createPolicy(`lit-html`,{createHTML:e=>e}):void 0,ue=`$lit$`,v=`lit$${Math.random().toFixed(9).slice(2)}$`,de=`?`+v,fe=`<${de}>`,y=document,pe=()=>y.createComment(``),me=e=>e===null||typeof e!=`object`&&typeof e!=`function`,he=Array.isArray,ge=e=>he(e)||typeof e?.[Symbol.iterator]==`function`,_e=`[ 	
\f\r]`,ve=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,ye=/-->/g,be=/>/g,b=RegExp(`>|${_e}(?:([^\\s"'>=/]+)(${_e}*=${_e}*(?:[^ \t\n\f\r"'\`<>=]|("|')|))|$)`,`g`),xe=/'/g,Se=/"/g,Ce=/^(?:script|style|textarea|title)$/i,we=e=>(t,...n)=>({_$litType$:e,strings:t,values:n}),x=we(1),S=we(2),C=Symbol.for(`lit-noChange`),w=Symbol.for(`lit-nothing`),Te=new WeakMap,T=y.createTreeWalker(y,129);function Ee(e,t){if(!he(e)||!e.hasOwnProperty(`raw`))throw Error(`invalid template strings array`);return le===void 0?t:le.createHTML(t)}var De=(e,t)=>{let n=e.length-1,r=[],i,a=t===2?`<svg>`:t===3?`<math>`:``,o=ve;for(let t=0;t<n;t++){let n=e[t],s,c,l=-1,u=0;for(;u<n.length&&(o.lastIndex=u,c=o.exec(n),c!==null);)u=o.lastIndex,o===ve?c[1]===`!--`?o=ye:c[1]===void 0?c[2]===void 0?c[3]!==void 0&&(o=b):(Ce.test(c[2])&&(i=RegExp(`</`+c[2],`g`)),o=b):o=be:o===b?c[0]===`>`?(o=i??ve,l=-1):c[1]===void 0?l=-2:(l=o.lastIndex-c[2].length,s=c[1],o=c[3]===void 0?b:c[3]===`"`?Se:xe):o===Se||o===xe?o=b:o===ye||o===be?o=ve:(o=b,i=void 0);let d=o===b&&e[t+1].startsWith(`/>`)?` `:``;a+=o===ve?n+fe:l>=0?(r.push(s),n.slice(0,l)+ue+n.slice(l)+v+d):n+v+(l===-2?t:d)}return[Ee(e,a+(e[n]||`<?>`)+(t===2?`</svg>`:t===3?`</math>`:``)),r]},Oe=class e{constructor({strings:t,_$litType$:n},r){let i;this.parts=[];let a=0,o=0,s=t.length-1,c=this.parts,[l,u]=De(t,n);if(this.el=e.createElement(l,r),T.currentNode=this.el.content,n===2||n===3){let e=this.el.content.firstChild;e.replaceWith(...e.childNodes)}for(;(i=T.nextNode())!==null&&c.length<s;){if(i.nodeType===1){if(i.hasAttributes())for(let e of i.getAttributeNames())if(e.endsWith(ue)){let t=u[o++],n=i.getAttribute(e).split(v),r=/([.?@])?(.*)/.exec(t);c.push({type:1,index:a,name:r[2],strings:n,ctor:r[1]===`.`?Me:r[1]===`?`?Ne:r[1]===`@`?Pe:je}),i.removeAttribute(e)}else e.startsWith(v)&&(c.push({type:6,index:a}),i.removeAttribute(e));if(Ce.test(i.tagName)){let e=i.textContent.split(v),t=e.length-1;if(t>0){i.textContent=ce?ce.emptyScript:``;for(let n=0;n<t;n++)i.append(e[n],pe()),T.nextNode(),c.push({type:2,index:++a});i.append(e[t],pe())}}}else if(i.nodeType===8){if(i.data===de)c.push({type:2,index:a});else{let e=-1;for(;(e=i.data.indexOf(v,e+1))!==-1;)c.push({type:7,index:a}),e+=v.length-1}}a++}}static createElement(e,t){let n=y.createElement(`template`);return n.innerHTML=e,n}};function E(e,t,n=e,r){if(t===C)return t;let i=r===void 0?n._$Cl:n._$Co?.[r],a=me(t)?void 0:t._$litDirective$;return i?.constructor!==a&&(i?._$AO?.(!1),a===void 0?i=void 0:(i=new a(e),i._$AT(e,n,r)),r===void 0?n._$Cl=i:(n._$Co??=[])[r]=i),i!==void 0&&(t=E(e,i._$AS(e,t.values),i,r)),t}var ke=class{constructor(e,t){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=t}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:t},parts:n}=this._$AD,r=(e?.creationScope??y).importNode(t,!0);T.currentNode=r;let i=T.nextNode(),a=0,o=0,s=n[0];for(;s!==void 0;){if(a===s.index){let t;s.type===2?t=new Ae(i,i.nextSibling,this,e):s.type===1?t=new s.ctor(i,s.name,s.strings,this,e):s.type===6&&(t=new Fe(i,this,e)),this._$AV.push(t),s=n[++o]}a!==s?.index&&(i=T.nextNode(),a++)}return T.currentNode=y,r}p(e){let t=0;for(let n of this._$AV)n!==void 0&&(n.strings===void 0?n._$AI(e[t]):(n._$AI(e,n,t),t+=n.strings.length-2)),t++}},Ae=class e{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,t,n,r){this.type=2,this._$AH=w,this._$AN=void 0,this._$AA=e,this._$AB=t,this._$AM=n,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,t=this._$AM;return t!==void 0&&e?.nodeType===11&&(e=t.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,t=this){e=E(this,e,t),me(e)?e===w||e==null||e===``?(this._$AH!==w&&this._$AR(),this._$AH=w):e!==this._$AH&&e!==C&&this._(e):e._$litType$===void 0?e.nodeType===void 0?ge(e)?this.k(e):this._(e):this.T(e):this.$(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==w&&me(this._$AH)?this._$AA.nextSibling.data=e:this.T(y.createTextNode(e)),this._$AH=e}$(e){let{values:t,_$litType$:n}=e,r=typeof n==`number`?this._$AC(e):(n.el===void 0&&(n.el=Oe.createElement(Ee(n.h,n.h[0]),this.options)),n);if(this._$AH?._$AD===r)this._$AH.p(t);else{let e=new ke(r,this),n=e.u(this.options);e.p(t),this.T(n),this._$AH=e}}_$AC(e){let t=Te.get(e.strings);return t===void 0&&Te.set(e.strings,t=new Oe(e)),t}k(t){he(this._$AH)||(this._$AH=[],this._$AR());let n=this._$AH,r,i=0;for(let a of t)i===n.length?n.push(r=new e(this.O(pe()),this.O(pe()),this,this.options)):r=n[i],r._$AI(a),i++;i<n.length&&(this._$AR(r&&r._$AB.nextSibling,i),n.length=i)}_$AR(e=this._$AA.nextSibling,t){for(this._$AP?.(!1,!0,t);e!==this._$AB;){let t=se(e).nextSibling;se(e).remove(),e=t}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},je=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,t,n,r,i){this.type=1,this._$AH=w,this._$AN=void 0,this.element=e,this.name=t,this._$AM=r,this.options=i,n.length>2||n[0]!==``||n[1]!==``?(this._$AH=Array(n.length-1).fill(new String),this.strings=n):this._$AH=w}_$AI(e,t=this,n,r){let i=this.strings,a=!1;if(i===void 0)e=E(this,e,t,0),a=!me(e)||e!==this._$AH&&e!==C,a&&(this._$AH=e);else{let r=e,o,s;for(e=i[0],o=0;o<i.length-1;o++)s=E(this,r[n+o],t,o),s===C&&(s=this._$AH[o]),a||=!me(s)||s!==this._$AH[o],s===w?e=w:e!==w&&(e+=(s??``)+i[o+1]),this._$AH[o]=s}a&&!r&&this.j(e)}j(e){e===w?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??``)}},Me=class extends je{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===w?void 0:e}},Ne=class extends je{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==w)}},Pe=class extends je{constructor(e,t,n,r,i){super(e,t,n,r,i),this.type=5}_$AI(e,t=this){if((e=E(this,e,t,0)??w)===C)return;let n=this._$AH,r=e===w&&n!==w||e.capture!==n.capture||e.once!==n.once||e.passive!==n.passive,i=e!==w&&(n===w||r);r&&this.element.removeEventListener(this.name,this,n),i&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH==`function`?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},Fe=class{constructor(e,t,n){this.element=e,this.type=6,this._$AN=void 0,this._$AM=t,this.options=n}get _$AU(){return this._$AM._$AU}_$AI(e){E(this,e)}},Ie={M:ue,P:v,A:de,C:1,L:De,R:ke,D:ge,V:E,I:Ae,H:je,N:Ne,U:Pe,B:Me,F:Fe},Le=oe.litHtmlPolyfillSupport;Le?.(Oe,Ae),(oe.litHtmlVersions??=[]).push(`3.3.3`);var Re=(e,t,n)=>{let r=n?.renderBefore??t,i=r._$litPart$;if(i===void 0){let e=n?.renderBefore??null;r._$litPart$=i=new Ae(t.insertBefore(pe(),e),e,void 0,n??{})}return i._$AI(e),i},ze=globalThis,Be=class extends _{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let t=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=Re(t,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return C}};Be._$litElement$=!0,Be.finalized=!0,ze.litElementHydrateSupport?.({LitElement:Be});var Ve=ze.litElementPolyfillSupport;Ve?.({LitElement:Be}),(ze.litElementVersions??=[]).push(`4.2.2`);var D={ATTRIBUTE:1,CHILD:2,PROPERTY:3,BOOLEAN_ATTRIBUTE:4,EVENT:5,ELEMENT:6},He=e=>(...t)=>({_$litDirective$:e,values:t}),Ue=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,t,n){this._$Ct=e,this._$AM=t,this._$Ci=n}_$AS(e,t){return this.update(e,t)}update(e,t){return this.render(...t)}},{I:We}=Ie,Ge=e=>e,Ke=e=>e.strings===void 0,qe=()=>document.createComment(``),Je=(e,t,n)=>{let r=e._$AA.parentNode,i=t===void 0?e._$AB:t._$AA;if(n===void 0)n=new We(r.insertBefore(qe(),i),r.insertBefore(qe(),i),e,e.options);else{let t=n._$AB.nextSibling,a=n._$AM,o=a!==e;if(o){let t;n._$AQ?.(e),n._$AM=e,n._$AP!==void 0&&(t=e._$AU)!==a._$AU&&n._$AP(t)}if(t!==i||o){let e=n._$AA;for(;e!==t;){let t=Ge(e).nextSibling;Ge(r).insertBefore(e,i),e=t}}}return n},O=(e,t,n=e)=>(e._$AI(t,n),e),Ye={},Xe=(e,t=Ye)=>e._$AH=t,Ze=e=>e._$AH,Qe=e=>{e._$AR(),e._$AA.remove()},$e=(e,t,n)=>{let r=new Map;for(let i=t;i<=n;i++)r.set(e[i],i);return r},et=He(class extends Ue{constructor(e){if(super(e),e.type!==D.CHILD)throw Error(`repeat() can only be used in text expressions`)}dt(e,t,n){let r;n===void 0?n=t:t!==void 0&&(r=t);let i=[],a=[],o=0;for(let t of e)i[o]=r?r(t,o):o,a[o]=n(t,o),o++;return{values:a,keys:i}}render(e,t,n){return this.dt(e,t,n).values}update(e,[t,n,r]){let i=Ze(e),{values:a,keys:o}=this.dt(t,n,r);if(!Array.isArray(i))return this.ut=o,a;let s=this.ut??=[],c=[],l,u,d=0,f=i.length-1,p=0,m=a.length-1;for(;d<=f&&p<=m;)if(i[d]===null)d++;else if(i[f]===null)f--;else if(s[d]===o[p])c[p]=O(i[d],a[p]),d++,p++;else if(s[f]===o[m])c[m]=O(i[f],a[m]),f--,m--;else if(s[d]===o[m])c[m]=O(i[d],a[m]),Je(e,c[m+1],i[d]),d++,m--;else if(s[f]===o[p])c[p]=O(i[f],a[p]),Je(e,i[d],i[f]),f--,p++;else if(l===void 0&&(l=$e(o,p,m),u=$e(s,d,f)),l.has(s[d])){if(l.has(s[f])){let t=u.get(o[p]),n=t===void 0?null:i[t];if(n===null){let t=Je(e,i[d]);O(t,a[p]),c[p]=t}else c[p]=O(n,a[p]),Je(e,i[d],n),i[t]=null;p++}else Qe(i[f]),f--}else Qe(i[d]),d++;for(;p<=m;){let t=Je(e,c[m+1]);O(t,a[p]),c[p++]=t}for(;d<=f;){let e=i[d++];e!==null&&Qe(e)}return this.ut=o,Xe(e,c),C}}),tt=`﷐`,nt=`﷑`,rt=RegExp(`^${tt}(\\d+):(\\d+)${nt}`);function it(e,t){let n=Array.from(st(e)),r=``,i=0;return t.forEach((e,a)=>{let o=Math.max(i,e.end),s=Math.max(o,t[a+1]?.start??n.length);r+=n.slice(i,o).join(``),r+=at(n.slice(o,s).join(``),a,e),i=s}),r+n.slice(i).join(``)}function at(e,t,n){let r=e.replace(/[ \t]*\[(\d{1,3})\]/g,(e,n)=>ot(t,Number(n)));return n.verdict!==`unsupported`&&n.verdict!==`contradicted`||r!==e?r:ot(t,0)+r}function ot(e,t){return`${tt}${e}:${t}${nt}`}function st(e){return e.replace(/[\uFDD0\uFDD1]/g,`�`)}function ct(){return{async:!1,breaks:!1,extensions:null,gfm:!0,hooks:null,pedantic:!1,renderer:null,silent:!1,tokenizer:null,walkTokens:null}}var k=ct();function lt(e){k=e}var A={exec:()=>null};function j(e){let t=[];return n=>{let r=Math.max(0,Math.min(3,n-1)),i=t[r];return i||(i=e(r),t[r]=i),i}}function M(e,t=``){let n=typeof e==`string`?e:e.source,r={replace:(e,t)=>{let i=typeof t==`string`?t:t.source;return i=i.replace(N.caret,`$1`),n=n.replace(e,i),r},getRegex:()=>new RegExp(n,t)};return r}var ut=((e=``)=>{try{return!!RegExp(`(?<=1)(?<!1)`+e)}catch{return!1}})(),N={codeRemoveIndent:/^(?: {0,3}\t| {1,4})/gm,listInterruptsParagraph:/^ {0,3}(?:[*+-]|1[.)])[ \t]+[^ \t\n]/,outputLinkReplace:/\\([\[\]])/g,indentCodeCompensation:/^(\s+)(?:```)/,beginningSpace:/^\s+/,endingHash:/#$/,startingSpaceChar:/^ /,endingSpaceChar:/ $/,endingSpaceTabChar:/[ \t]$/,nonSpaceChar:/[^ ]/,newLineCharGlobal:/\n/g,tabCharGlobal:/\t/g,leadingSpaceTab:/^[ \t]+/,multipleSpaceGlobal:/\s+/g,blankLine:/^[ \t]*$/,doubleBlankLine:/\n[ \t]*\n[ \t]*$/,blockquoteStart:/^ {0,3}>/,blockquoteSetextReplace:/\n {0,3}((?:=+|-+)[ \t]*)(?=\n|$)/g,blockquoteSetextReplace2:/^ {0,3}>[ \t]?/gm,blockquoteMarkerWhitespace:/^( {0,3}>)([ \t]+)/gm,listReplaceNesting:/^ {1,4}(?=( {4})*[^ ])/g,listIsTask:/^\[[ xX]\][ \t]+\S/,listReplaceTask:/^\[[ xX]\][ \t]+/,listTaskCheckbox:/\[[ xX]\]/,anyLine:/\n.*\n/,hrefBrackets:/^<(.*)>$/,tableDelimiter:/[:|]/,tableAlignChars:/^\||\| *$/g,tableRowBlankLine:/\n[ \t]*$/,tableAlignRight:/^ *-+: *$/,tableAlignCenter:/^ *:-+: *$/,tableAlignLeft:/^ *:-+ *$/,startATag:/^<a /i,endATag:/^<\/a>/i,startPreScriptTag:/^<(pre|code|kbd|script)(\s|>)/i,endPreScriptTag:/^<\/(pre|code|kbd|script)(\s|>)/i,startAngleBracket:/^</,endAngleBracket:/>$/,pedanticHrefTitle:/^([^'"]*[^\s])\s+(['"])(.*)\2/,unicodeAlphaNumeric:/[\p{L}\p{N}]/u,numericCharacterReference:/&#(?:(\d{1,7})|[Xx]([A-Fa-f0-9]{1,6}));/,numericCharacterReferenceOrAmpersand:/&#(?:(\d{1,7})|[Xx]([A-Fa-f0-9]{1,6}));|&(?!(#\d{1,7}|#[Xx][a-fA-F0-9]{1,6}|\w+);)/g,escapeTest:/[&<>"']/,escapeReplace:/[&<>"']/g,escapeTestNoEncode:/[<>"']|&(?!(#\d{1,7}|#[Xx][a-fA-F0-9]{1,6}|\w+);)/,escapeReplaceNoEncode:/[<>"']|&(?!(#\d{1,7}|#[Xx][a-fA-F0-9]{1,6}|\w+);)/g,caret:/(^|[^\[])\^/g,percentDecode:/%25/g,findPipe:/\|/g,splitPipe:/ \|/,slashPipe:/\\\|/g,carriageReturn:/\r\n|\r/g,spaceLine:/^ +$/gm,notSpaceStart:/^\S*/,endingNewline:/\n$/,listItemRegex:e=>RegExp(`^( {0,3}${e})((?:[	 ][^\\n]*)?(?:\\n|$))`),nextBulletRegex:j(e=>RegExp(`^ {0,${e}}(?:[*+-]|\\d{1,9}[.)])((?:[ 	][^\\n]*)?(?:\\n|$))`)),hrRegex:j(e=>RegExp(`^ {0,${e}}((?:-[ 	]*){3,}|(?:_[ 	]*){3,}|(?:\\*[ 	]*){3,})(?:\\n+|$)`)),fencesBeginRegex:j(e=>RegExp(`^ {0,${e}}(?:\`\`\`|~~~)`)),headingBeginRegex:j(e=>RegExp(`^ {0,${e}}#{1,6}(?:\\s|$)`)),pedanticHeadingBeginRegex:j(e=>RegExp(`^ {0,${e}}#`)),htmlBeginRegex:j(e=>RegExp(`^ {0,${e}}(?:</?(?:${Tt})(?: +|$|/?>)|<(?:(?:script|pre|style|textarea)(?:[\\s>]|$)|!--)|<\\?|<![A-Za-z]|<!\\[CDATA\\[)`,`i`)),blockquoteBeginRegex:j(e=>RegExp(`^ {0,${e}}>`)),nestedContainerMarkers:/^(?: {0,3}(?:(?:[*+-]|\d{1,9}[.)])[ \t]+|>[ \t]?))+/},dt=/^(?:[ \t]*(?:\n|$))+/,ft=/^((?: {4}| {0,3}\t)[^\n]+(?:\n(?:[ \t]*(?:\n|$))*)?)+/,pt=/^ {0,3}(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})([^\n]*)(?:\n|$)(?:|([\s\S]*?)(?:\n|$))(?: {0,3}(?:(?=`)\1`*|(?=~)\1~*) *(?=\n|$)|$)/,mt=/^ {0,3}((?:-[\t ]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})(?:\n+|$)/,ht=/^ {0,3}(#{1,6})(?=\s|$)(.*)(?:\n+|$)/,gt=/ {0,3}(?:[*+-]|\d{1,9}[.)])/,_t=/^(?!bull |blockCode|fences|blockquote|heading|html|table)((?:.|\n(?!\s*?\n|bull |fences|blockquote|heading|hr|html|table))+?)\n {0,3}(=+|-+)[ \t]*(?:\n+|$)/,vt=M(_t).replace(/bull/g,gt).replace(/blockCode/g,/(?: {4}| {0,3}\t)/).replace(/fences/g,/ {0,3}(?:`{3,}|~{3,})/).replace(/blockquote/g,/ {0,3}>/).replace(/heading/g,/ {0,3}#{1,6}(?:\s|$)/).replace(/hr/g,/ {0,3}(?:(?:-[\t ]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})(?:\n+|$)/).replace(/html/g,/ {0,3}<[^\n>]+>\n/).replace(/\|table/g,``).getRegex(),yt=M(_t).replace(/bull/g,gt).replace(/blockCode/g,/(?: {4}| {0,3}\t)/).replace(/fences/g,/ {0,3}(?:`{3,}|~{3,})/).replace(/blockquote/g,/ {0,3}>/).replace(/heading/g,/ {0,3}#{1,6}(?:\s|$)/).replace(/hr/g,/ {0,3}(?:(?:-[\t ]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})(?:\n+|$)/).replace(/html/g,/ {0,3}<[^\n>]+>\n/).replace(/table/g,/ {0,3}\|?(?:[:\- ]*\|)+[\:\- ]*\n/).getRegex(),bt=/^([^\n]+(?:\n(?!hr|heading|lheading|blockquote|fences|list|html|table|[ \t]+\n)[^\n]+)*)/,xt=/^[^\n]+/,St=/(?!\s*\])(?:\\[\s\S]|[^\[\]\\\n]|\n(?![ \t]*\n))+/,Ct=M(/^ {0,3}\[(label)\]: *(?:\n[ \t]*)?([^<\s][^\s]*|<.*?>)(?:(?: +(?:\n[ \t]*)?| *\n[ \t]*)(title))? *(?:\n+|$)/).replace(`label`,St).replace(`title`,/(?:"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\\n]|\n(?!\n))*'|\((?:\\[\s\S]|[^()\\])*\))/).getRegex(),wt=M(/^(bull)([ \t][^\n]*?)?(?:\n|$)/).replace(/bull/g,gt).getRegex(),Tt=`address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|meta|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul`,Et=/<!--(?:-?>|[\s\S]*?(?:-->|$))/,Dt=M(`^ {0,3}(?:<(script|pre|style|textarea)[\\s>][\\s\\S]*?(?:</\\1>[^\\n]*\\n*|$)|comment[^\\n]*(\\n+|$)|<\\?[\\s\\S]*?(?:\\?>[^\\n]*\\n*|$)|<![A-Z][\\s\\S]*?(?:>[^\\n]*\\n*|$)|<!\\[CDATA\\[[\\s\\S]*?(?:\\]\\]>[^\\n]*\\n*|$)|</?(tag)(?:[ \\t]+|\\n|/?>|$)[\\s\\S]*?(?:(?:\\n[ 	]*)+\\n|$)|<(?!(?:script|pre|style|textarea)(?![a-z0-9-]))([a-z][a-z0-9-]*)(?:attribute)*? */?>(?=[ \\t]*(?:\\n|$))[\\s\\S]*?(?:(?:\\n[ 	]*)+\\n|$)|</[a-z][a-z0-9-]*\\s*>(?=[ \\t]*(?:\\n|$))[\\s\\S]*?(?:(?:\\n[ 	]*)+\\n|$))`,`i`).replace(`comment`,Et).replace(`tag`,Tt).replace(`attribute`,/ +[a-zA-Z:_][\w.:-]*(?: *= *"[^"\n]*"| *= *'[^'\n]*'| *= *[^\s"'=<>`]+)?/).getRegex(),Ot=e=>M(bt).replace(`hr`,mt).replace(`heading`,` {0,3}#{1,6}(?:\\s|$)`).replace(`|lheading`,``).replace(`|table`,``).replace(`blockquote`,` {0,3}>`).replace(`fences`," {0,3}(?:`{3,}(?=[^`\\n]*(?:\\n|$))|~~~)[^\\n]*(?:\\n|$)").replace(`list`,e).replace(`html`,` {0,3}(?:</?(?:tag)(?: +|\\n|/?>)|<(?:(?:script|pre|style|textarea)(?:[\\s>]|$)|!--)|<\\?|<![A-Za-z]|<!\\[CDATA\\[)`).replace(`tag`,Tt).getRegex(),kt=Ot(/ {0,3}(?:[*+-]|1[.)])[ \t]+[^ \t\n]/),At=Ot(/ {0,3}(?:[*+-]|\d{1,9}[.)])(?:[ \t]|\n|$)/),jt={blockquote:M(/^( {0,3}> ?(?:(?![ \t]*(?:\n|$))(paragraph)|[^\n]*)(?:\n|$))+/).replace(`paragraph`,At).getRegex(),code:ft,def:Ct,fences:pt,heading:ht,hr:mt,html:Dt,lheading:vt,list:wt,newline:dt,paragraph:kt,table:A,text:xt},Mt=M(`^ *([^\\n ].*)\\n {0,3}((?:\\| *)?:?-+:? *(?:\\| *:?-+:? *)*(?:\\| *)?)(?:\\n((?:(?! *\\n|hr|heading|blockquote|code|fences|list|html).*(?:\\n|$))*)\\n*|$)`).replace(`hr`,mt).replace(`heading`,` {0,3}#{1,6}(?:\\s|$)`).replace(`blockquote`,` {0,3}>`).replace(`code`,`(?: {4}| {0,3}	)[^\\n]`).replace(`fences`," {0,3}(?:`{3,}(?=[^`\\n]*(?:\\n|$))|~~~)[^\\n]*(?:\\n|$)").replace(`list`,` {0,3}(?:[*+-]|1[.)])[ \\t]`).replace(`html`,` {0,3}(?:</?(?:tag)(?: +|\\n|/?>)|<(?:(?:script|pre|style|textarea)(?:[\\s>]|$)|!--)|<\\?|<![A-Za-z]|<!\\[CDATA\\[)`).replace(`tag`,Tt).getRegex(),Nt={...jt,lheading:yt,table:Mt,paragraph:M(bt).replace(`hr`,mt).replace(`heading`,` {0,3}#{1,6}(?:\\s|$)`).replace(`|lheading`,``).replace(`table`,Mt).replace(`blockquote`,` {0,3}>`).replace(`fences`," {0,3}(?:`{3,}(?=[^`\\n]*(?:\\n|$))|~~~)[^\\n]*(?:\\n|$)").replace(`list`,` {0,3}(?:[*+-]|1[.)])[ \\t]+[^ \\t\\n]`).replace(`html`,` {0,3}(?:</?(?:tag)(?: +|\\n|/?>)|<(?:(?:script|pre|style|textarea)(?:[\\s>]|$)|!--)|<\\?|<![A-Za-z]|<!\\[CDATA\\[)`).replace(`tag`,Tt).getRegex()},Pt={...jt,html:M(`^ *(?:comment(?: *\\n|\\s*$)|<(tag)[\\s\\S]+?</\\1>(?: *\\n{2,}|\\s*$)|<tag(?:"[^"]*"|'[^']*'|\\s[^'"/>\\s]*)*?/?>(?: *\\n{2,}|\\s*$))`).replace(`comment`,Et).replace(/tag/g,`(?!(?:a|em|strong|small|s|cite|q|dfn|abbr|data|time|code|var|samp|kbd|sub|sup|i|b|u|mark|ruby|rt|rp|bdi|bdo|span|br|wbr|ins|del|img)\\b)\\w+(?!:|[^\\w\\s@]*@)\\b`).getRegex(),def:/^ *\[([^\]]+)\]: *<?([^\s>]+)>?(?: +(["(][^\n]+[")]))? *(?:\n+|$)/,heading:/^(#{1,6})(.*)(?:\n+|$)/,fences:A,lheading:/^(.+?)\n {0,3}(=+|-+) *(?:\n+|$)/,paragraph:M(bt).replace(`hr`,mt).replace(`heading`,` *#{1,6} *[^
]`).replace(`lheading`,vt).replace(`|table`,``).replace(`blockquote`,` {0,3}>`).replace(`|fences`,``).replace(`|list`,``).replace(`|html`,``).replace(`|tag`,``).getRegex()},Ft=/^\\([!"#$%&'()*+,\-./:;<=>?@\[\]\\^_`{|}~])/,It=/^(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/,Lt=/^( {2,}|\\)\n(?!\s*$)[ \t]*/,Rt=/^(`+|[^`])(?:(?= {2,}\n)|[\s\S]*?(?:(?=[\\<!\[`*_]|\b_|$)|[^ ](?= {2,}\n)))/,P=/[\p{P}\p{S}]/u,F=/[\s\p{P}\p{S}]/u,I=/[^\s\p{P}\p{S}]/u,zt=M(/^((?![*_])punctSpace)/,`u`).replace(/punctSpace/g,F).getRegex(),Bt=/[\p{Pi}\p{Ps}"']/u,Vt=/(?!~)[\p{P}\p{S}]/u,Ht=/(?!~)[\s\p{P}\p{S}]/u,Ut=/(?:[^\s\p{P}\p{S}]|~)/u,Wt=M(/link|precode-code|html/,`g`).replace(`link`,/\[(?:[^\[\]`]|(?<a>`+)[^`]+\k<a>(?!`))*?\]\((?:\\[\s\S]|[^\\\(\)]|\((?:\\[\s\S]|[^\\\(\)])*\))*\)/).replace(`precode-`,ut?"(?<!`)()":"(^^|[^`])").replace(`code`,/(?<b>`+)[^`]+\k<b>(?!`)/).replace(`html`,/<(?! )[^<>]*?>/).getRegex(),Gt=/^(?:\*+(?:((?!\*)punct)|([^\s*]))?)|^_+(?:((?!_)punct)|([^\s_]))?/,Kt=M(Gt,`u`).replace(/punct/g,P).getRegex(),qt=M(Gt,`u`).replace(/punct/g,Vt).getRegex(),Jt=M(/^(?:\*+(?:((?!\*)(?!openQuote)punct)|([^\s*]))?)|^_+(?:((?!_)(?!openQuote)punct)|([^\s_]))?/,`u`).replace(/openQuote/g,Bt).replace(/punct/g,P).getRegex(),Yt=`^[^_*]*?__[^_*]*?\\*[^_*]*?(?=__)|[^*]+(?=[^*])|(?!\\*)punct(\\*+)(?=[\\s]|$)|notPunctSpace(\\*+)(?!\\*)(?=punctSpace|$)|(?!\\*)punctSpace(\\*+)(?=notPunctSpace)|[\\s](\\*+)(?!\\*)(?=punct)|(?!\\*)punct(\\*+)(?!\\*)(?=punct)|notPunctSpace(\\*+)(?=notPunctSpace)`,Xt=M(Yt,`gu`).replace(/notPunctSpace/g,I).replace(/punctSpace/g,F).replace(/punct/g,P).getRegex(),Zt=M(Yt,`gu`).replace(/notPunctSpace/g,Ut).replace(/punctSpace/g,Ht).replace(/punct/g,Vt).getRegex(),Qt=M(`^[^_*]*?__[^_*]*?\\*[^_*]*?(?=__)|[^*]+(?=[^*])|(?!\\*)punct(\\*+)(?=[\\s]|$)|notPunctSpace(\\*+)(?!\\*)(?=punctSpace|$)|(?!\\*)[\\s](\\*+)(?=notPunctSpace)|[\\s](\\*+)(?!\\*)(?=punct)|(?!\\*)punct(\\*+)(?!\\*)(?=punct)|(?:(?!\\*)punct|notPunctSpace)(\\*+)(?!\\*)(?=notPunctSpace)`,`gu`).replace(/notPunctSpace/g,I).replace(/punctSpace/g,F).replace(/punct/g,P).getRegex(),$t=M(`^[^_*]*?\\*\\*[^_*]*?_[^_*]*?(?=\\*\\*)|[^_]+(?=[^_])|(?!_)punct(_+)(?=[\\s]|$)|notPunctSpace(_+)(?!_)(?=punctSpace|$)|(?!_)punctSpace(_+)(?=notPunctSpace)|[\\s](_+)(?!_)(?=punct)|(?!_)punct(_+)(?!_)(?=punct)`,`gu`).replace(/notPunctSpace/g,I).replace(/punctSpace/g,F).replace(/punct/g,P).getRegex(),en=M(`^[^_*]*?\\*\\*[^_*]*?_[^_*]*?(?=\\*\\*)|[^_]+(?=[^_])|(?!_)punct(_+)(?=[\\s]|$)|notPunctSpace(_+)(?!_)(?=punctSpace|$)|(?!_)[\\s](_+)(?=notPunctSpace)|[\\s](_+)(?!_)(?=punct)|(?!_)punct(_+)(?!_)(?=punct)|(?:(?!_)punct|notPunctSpace)(_+)(?!_)(?=notPunctSpace)`,`gu`).replace(/notPunctSpace/g,I).replace(/punctSpace/g,F).replace(/punct/g,P).getRegex(),tn=M(/^~~?(?:((?!~)punct)|[^\s~])/,`u`).replace(/punct/g,P).getRegex(),nn=M(`^[^~]+(?=[^~])|(?!~)punct(~~?)(?=[\\s]|$)|notPunctSpace(~~?)(?!~)(?=punctSpace|$)|(?!~)punctSpace(~~?)(?=notPunctSpace)|[\\s](~~?)(?!~)(?=punct)|(?!~)punct(~~?)(?!~)(?=punct)|notPunctSpace(~~?)(?=notPunctSpace)`,`gu`).replace(/notPunctSpace/g,I).replace(/punctSpace/g,F).replace(/punct/g,P).getRegex(),rn=M(/\\(punct)/,`gu`).replace(/punct/g,P).getRegex(),an=M(/(`+)(?:[^`]|[^`][\s\S]*?[^`])\1(?!`)|`+|\\(punct)/,`gu`).replace(/punct/g,P).getRegex(),on=M(/^<(scheme:[^\s\x00-\x1f<>]*|email)>/).replace(`scheme`,/[a-zA-Z][a-zA-Z0-9+.-]{1,31}/).replace(`email`,/[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+(@)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+(?![-_])/).getRegex(),sn=M(Et).replace(`(?:-->|$)`,`-->`).getRegex(),cn=M(`^comment|^</[a-zA-Z][a-zA-Z0-9-]*\\s*>|^<[a-zA-Z][a-zA-Z0-9-]*(?:attribute)*?\\s*/?>|^<\\?[\\s\\S]*?\\?>|^<![a-zA-Z]+\\s[\\s\\S]*?>|^<!\\[CDATA\\[[\\s\\S]*?\\]\\]>`).replace(`comment`,sn).replace(`attribute`,/\s+[a-zA-Z:_][\w.:-]*(?:\s*=\s*"[^"]*"|\s*=\s*'[^']*'|\s*=\s*[^\s"'=<>`]+)?/).getRegex(),ln=/\[(?:\\[\s\S]|[^\[\]\\])*\]/,un=M(/(?:\[(?:brackets|\\[\s\S]|[^\[\]\\])*\]|\\[\s\S]|`+(?!`)[^`]*?`+(?!`)|``+(?=\])|[^\[\]\\`])*?/).replace(`brackets`,ln).getRegex(),dn=M(/^!?\[(label)\]\([ \t\n]*(href)(?:(?:[ \t]+(?:\n[ \t]*)?|\n[ \t]*)(title))?[ \t\n]*\)/).replace(`label`,un).replace(`href`,/<(?:\\.|[^\n<>\\])+>|[^ \t\n\x00-\x1f]+|(?=\))/).replace(`title`,/"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\((?:\\[\s\S]|[^)\\])*\)/).getRegex(),fn=M(/^!?\[(label)\]\[(ref)\]/).replace(`label`,un).replace(`ref`,St).getRegex(),pn=M(/^!?\[(ref)\](?:\[\])?/).replace(`ref`,St).getRegex(),mn=/(?!\s*\])(?:\\[\s\S]|[^\[\]\\]){1,999}/,hn=M(/(?:[^\[\]\\`]*(?:\[(?:brackets|\\[\s\S]|[^\[\]\\])*\]|\\[\s\S]|`+(?!`)[^`]*?`+(?!`)|``+(?=\]))){0,999}?[^\[\]\\`]*?/).replace(`brackets`,ln).getRegex(),gn=M(`reflink|nolink(?!\\()`,`g`).replace(`reflink`,M(/^!?\[(label)\]\[(ref)\]/).replace(`label`,hn).replace(`ref`,mn).getRegex()).replace(`nolink`,M(/^!?\[(ref)\](?:\[\])?/).replace(`ref`,mn).getRegex()).getRegex(),_n=/[hH][tT][tT][pP][sS]?|[fF][tT][pP]/,vn=M(/(?:mailto:email|xmpp:email(?:\/[A-Za-z0-9@.]+)?)/).replace(/email/g,/[A-Za-z0-9._+-]+@[a-zA-Z0-9-_]+(?:\.[a-zA-Z0-9-_]*[a-zA-Z0-9])+(?![\w-])/).getRegex(),yn={_backpedal:A,anyPunctuation:rn,anyPunctuationOutsideCode:an,autolink:on,blockSkip:Wt,br:Lt,code:It,del:A,delLDelim:A,delRDelim:A,emStrongLDelim:Kt,emStrongRDelimAst:Xt,emStrongRDelimUnd:$t,escape:Ft,link:dn,nolink:pn,punctuation:zt,reflink:fn,reflinkSearch:gn,tag:cn,text:Rt,url:A},bn={...yn,emStrongLDelim:Jt,emStrongRDelimAst:Qt,emStrongRDelimUnd:en,link:M(/^!?\[(label)\]\((.*?)\)/).replace(`label`,un).getRegex(),reflink:M(/^!?\[(label)\]\s*\[([^\]]*)\]/).replace(`label`,un).getRegex()},xn={...yn,emStrongRDelimAst:Zt,emStrongLDelim:qt,delLDelim:tn,delRDelim:nn,url:M(/^emailProtocol|^((?:protocol):\/\/|www\.)(?:[a-zA-Z0-9\-]+\.?)+[^\s<]*|^email/).replace(`emailProtocol`,vn).replace(`protocol`,_n).replace(`email`,/[A-Za-z0-9._+-]+(@)[a-zA-Z0-9-_]+(?:\.[a-zA-Z0-9-_]*[a-zA-Z0-9])+(?![\w-])/).getRegex(),_backpedal:/(?:[^?!.,:;*_'"~()&]+|\([^)]*\)|&(?![a-zA-Z0-9]+;$)|[?!.,:;*_'"~)]+(?!$))+/,del:/^(~~?)(?=[^\s~])((?:\\[\s\S]|[^\\])*?(?:\\[\s\S]|[^\s~\\]))\1(?=[^~]|$)/,text:M(/^(?:[^a-zA-Z0-9](?=emailProtocol)|(`+|~+|[^`~])(?:(?=[`~])|(?= {2,}\n)|(?=[a-zA-Z0-9.!#$%&'*+\/=?_`{\|}~-]+@)|[\s\S]*?(?:(?=[\\<!\[`*~_]|\b_|protocol:\/\/|wwwStart|$)|[^ ](?= {2,}\n)|[^a-zA-Z0-9](?=emailProtocol)|[^a-zA-Z0-9.!#$%&'*+\/=?_`{\|}~-](?=[a-zA-Z0-9.!#$%&'*+\/=?_`{\|}~-]+@))))/).replace(`protocol`,_n).replace(/emailProtocol/g,/(?:mailto|xmpp):/).replace(`wwwStart`,ut?`(?<![^\\s*_~(])www\\.`:`www\\.`).getRegex()},Sn={...xn,br:M(Lt).replace(`{2,}`,`*`).getRegex(),text:M(xn.text).replace(`\\b_`,`\\b_| {2,}\\n`).replace(/\{2,\}/g,`*`).getRegex()},Cn={normal:jt,gfm:Nt,pedantic:Pt},wn={normal:yn,gfm:xn,breaks:Sn,pedantic:bn},Tn={"&":`&amp;`,"<":`&lt;`,">":`&gt;`,'"':`&quot;`,"'":`&#39;`},En=e=>Tn[e];function L(e,t){if(t){if(N.escapeTest.test(e))return e.replace(N.escapeReplace,En)}else if(N.escapeTestNoEncode.test(e))return e.replace(N.escapeReplaceNoEncode,En);return e}function Dn(e){return N.numericCharacterReference.test(e)?e.replace(N.numericCharacterReferenceOrAmpersand,(e,t,n)=>{if(t===void 0&&n===void 0)return`&amp;`;let r=t===void 0?Number.parseInt(n,16):Number.parseInt(t,10);return r===0||r>1114111||r>=55296&&r<=57343?`�`:r===38?`&amp;`:String.fromCodePoint(r)}):e}function On(e){try{e=encodeURI(e).replace(N.percentDecode,`%`)}catch{return null}return e}function kn(e,t){let n=e.replace(N.findPipe,(e,t,n)=>{let r=!1,i=t;for(;--i>=0&&n[i]===`\\`;)r=!r;return r?`|`:` |`}).split(N.splitPipe),r=0;if(n[0].trim()||n.shift(),n.length>0&&!n.at(-1)?.trim()&&n.pop(),t){if(n.length>t)n.splice(t);else for(;n.length<t;)n.push(``)}for(;r<n.length;r++)n[r]=n[r].trim().replace(N.slashPipe,`|`);return n}function R(e,t,n){let r=e.length;if(r===0)return``;let i=0;for(;i<r;){let a=e.charAt(r-i-1);if(a===t&&!n)i++;else if(a!==t&&n)i++;else break}return e.slice(0,r-i)}function An(e){let t=e.split(`
`),n=t.length-1;for(;n>=0&&N.blankLine.test(t[n]);)n--;return t.length-n<=2?e:t.slice(0,n+1).join(`
`)}function jn(e){return e.trim().replace(N.multipleSpaceGlobal,` `).toLowerCase().toUpperCase().toLowerCase()}function Mn(e,t){if(e.indexOf(t[0])===-1&&e.indexOf(t[1])===-1)return-1;let n=0;for(let r=0;r<e.length;r++)if(e[r]===`\\`)r++;else if(e[r]===t[0])n++;else if(e[r]===t[1]&&(n--,n<0))return r;return n>0?-2:-1}var z=new WeakMap;function Nn(e){let t={"*":-1,_:-1},n=-1,r=e.length;for(let i=0;i<r;i++){let a=e[i];if(a!==`*`&&a!==`_`&&a!==`~`)continue;let o=i===0?`
`:e[i-1],s=i+1;for(;s<r&&e[s]===a;)s++;o!==` `&&o!==`	`&&o!==`
`&&o!==`\r`&&o!==`\f`&&(a===`~`?n=i:t[a]=i),i=s-1}return{maskedSrc:e,lastPossibleEmStrongCloserIndex:t,lastPossibleDelCloserIndex:n}}function Pn(e,t){let n=Nn(t),r=z.get(e);r?r.push(n):z.set(e,[n])}function Fn(e){let t=z.get(e);t&&(t.pop(),t.length===0&&z.delete(e))}function In(e,t,n){let r=z.get(e)?.at(-1);return r&&r.maskedSrc===t?r.lastPossibleEmStrongCloserIndex[n]:Nn(t).lastPossibleEmStrongCloserIndex[n]}function Ln(e,t){let n=z.get(e)?.at(-1);return n&&n.maskedSrc===t?n.lastPossibleDelCloserIndex:Nn(t).lastPossibleDelCloserIndex}function Rn(e,t=0){let n=t,r=``;for(let t of e)if(t===`	`){let e=4-n%4;r+=` `.repeat(e),n+=e}else r+=t,n++;return r}function zn(e,t,n,r,i){let a=t.href,o=t.title||null,s=e[1].replace(i.other.outputLinkReplace,`$1`),c=e[0].charAt(0)===`!`,l=r.state.inLink,u=r.state.linkEmitted,d=r.state.inRawBlock;r.state.inLink=!0,r.state.linkEmitted=!1;let f=r.inlineTokens(s),p=r.state.linkEmitted;if(r.state.linkEmitted=u,r.state.inLink=l,!c){if(p){r.state.inRawBlock=d;return}r.state.linkEmitted=!0}return{type:c?`image`:`link`,raw:n,href:a,title:o,text:s,tokens:f}}function Bn(e,t,n){let r=e.match(n.other.indentCodeCompensation);if(r===null)return t;let i=r[1];return t.split(`
`).map(e=>{let t=e.match(n.other.beginningSpace);if(t===null)return e;let[r]=t;return e.slice(Math.min(r.length,i.length))}).join(`
`)}function Vn(e,t,n,r){if(!t.includes(`<`))return!1;for(let i=0;i<t.length;i++){if(t[i]===`\\`){i++;continue}if(t[i]==="`"){let e=r.inline.code.exec(t.slice(i));if(e){i+=e[0].length-1;continue}}if(t[i]!==`<`)continue;let a=e.slice(n+i),o=r.inline.tag.exec(a)||r.inline.autolink.exec(a);if(o){if(o[0].length>t.length-i)return!0;i+=o[0].length-1}}return!1}var B=class{options;rules;lexer;constructor(e){this.options=e||k}space(e){let t=this.rules.block.newline.exec(e);if(t&&t[0].length>0)return{type:`space`,raw:t[0]}}code(e){let t=this.rules.block.code.exec(e);if(t){let e=this.options.pedantic?t[0]:An(t[0]);return{type:`code`,raw:e,codeBlockStyle:`indented`,text:e.replace(this.rules.other.codeRemoveIndent,``)}}}fences(e){let t=this.rules.block.fences.exec(e);if(t){let e=t[0],n=Bn(e,t[3]||``,this.rules);return{type:`code`,raw:e,lang:t[2]?t[2].trim().replace(this.rules.inline.anyPunctuation,`$1`):t[2],text:n}}}heading(e){let t=this.rules.block.heading.exec(e);if(t){let e=t[2].trim();if(this.rules.other.endingHash.test(e)){let t=R(e,`#`);(this.options.pedantic||!t||this.rules.other.endingSpaceTabChar.test(t))&&(e=t.trim())}return{type:`heading`,raw:R(t[0],`
`),depth:t[1].length,text:e,tokens:this.lexer.inline(e)}}}hr(e){let t=this.rules.block.hr.exec(e);if(t)return{type:`hr`,raw:R(t[0],`
`)}}blockquote(e){let t=this.rules.block.blockquote.exec(e);if(t){let e=R(t[0],`
`).split(`
`),n=``,r=``,i=[];for(;e.length>0;){let t=!1,a=[],o=0;for(;o<e.length;o++)if(this.rules.other.blockquoteStart.test(e[o]))a.push(e[o]),t=!0;else if(!t)a.push(e[o]);else break;e=e.slice(o);let s=a.join(`
`),c=s.replace(this.rules.other.blockquoteMarkerWhitespace,(e,t,n)=>t+Rn(n,t.length)).replace(this.rules.other.blockquoteSetextReplace,`
    $1`).replace(this.rules.other.blockquoteSetextReplace2,``);n=n?`${n}
${s}`:s,r=r?`${r}
${c}`:c;let l=this.lexer.state.top;if(this.lexer.state.top=!0,this.lexer.blockTokens(c,i,!0),this.lexer.state.top=l,e.length===0)break;let u=i.at(-1);if(u?.type===`code`||u?.type===`heading`||u?.type===`hr`||u?.type===`html`||u?.type===`table`)break;if(u?.type===`blockquote`){let t=u,a=e.join(`
`),o=t.raw+`
`+a.replace(this.rules.other.blockquoteSetextReplace2,``),s=this.blockquote(o);i[i.length-1]=s;let c=o.substring(s.raw.length).replace(/^\n/,``),l=c?c.split(`
`).length:0,d=l?e.slice(0,-l):e;if(d.length>0&&(n=`${n}
${d.join(`
`)}`),r=r.substring(0,r.length-t.text.length)+s.text,e=e.slice(d.length),e.length>0&&this.rules.other.blockquoteStart.test(e[0]))continue;break}if(u?.type===`list`){let t=u,a=t.raw+`
`+e.join(`
`),o=this.list(a);i[i.length-1]=o;let s=o.raw.length>t.raw.length?a.slice(t.raw.length+1,o.raw.length).split(`
`).length:0;if(s>0){let t=e.slice(0,s).join(`
`);n=`${n}
${t}`,r=`${r}
${t}`}e=e.slice(s)}}return{type:`blockquote`,raw:n,tokens:i,text:r}}}list(e){let t=this.rules.block.list.exec(e);if(t){if(!this.options.pedantic&&this.lexer.state.lastToken?.type===`text`&&!this.rules.other.listInterruptsParagraph.test(e))return;let n=e,r=()=>n.length-e.length,i=t[1].trim(),a=i.length>1,o={type:`list`,raw:``,ordered:a,start:a?+i.slice(0,-1):``,loose:!1,items:[]};i=a?`\\d{1,9}\\${i.slice(-1)}`:`\\${i}`,this.options.pedantic&&(i=a?i:`[*+-]`);let s=this.rules.other.listItemRegex(i),c=!1;for(;e;){let i=!1,a=``;if(!(t=s.exec(e))||this.rules.block.hr.test(e))break;let l=r();e=e.substring(t[0].length);let u=t[2].split(`
`,1)[0],d=t[1].length,f=this.options.pedantic?Rn(u,d):u.replace(this.rules.other.leadingSpaceTab,e=>Rn(e,d)),p=e.split(`
`,1)[0],m=!f.trim(),h=0;if(this.options.pedantic?(h=2,a=f.trimStart()):m?h=d+1:(h=f.search(this.rules.other.nonSpaceChar),h=h>4?1:h,a=f.slice(h),h+=d),m&&this.rules.other.blankLine.test(p)&&(e=e.substring(p.length+1),i=!0),!i){let t=this.rules.other.nextBulletRegex(h),n=this.rules.other.hrRegex(h),r=this.rules.other.fencesBeginRegex(h),i=this.options.pedantic?this.rules.other.pedanticHeadingBeginRegex(h):this.rules.other.headingBeginRegex(h),o=this.rules.other.htmlBeginRegex(h),s=this.rules.other.blockquoteBeginRegex(h),c=!1;for(;e;){let l=e.split(`
`,1)[0],u;if(p=l,this.options.pedantic?(p=p.replace(this.rules.other.listReplaceNesting,`  `),u=p):u=p.replace(this.rules.other.leadingSpaceTab,e=>Rn(e)),r.test(p)||i.test(p)||o.test(p)||s.test(p)||t.test(p)||n.test(p))break;if(u.search(this.rules.other.nonSpaceChar)>=h||!p.trim())a+=`
`+u.slice(h),c=!1;else{if(m||f.replace(this.rules.other.tabCharGlobal,`    `).search(this.rules.other.nonSpaceChar)>=4||r.test(f)||i.test(f)||o.test(f)||n.test(f))break;if(!this.options.pedantic&&!c){let e=f.replace(this.rules.other.nestedContainerMarkers,``);if(this.rules.block.fences.test(e)||this.rules.block.heading.test(e)||this.rules.block.hr.test(e))break}let e=!this.options.pedantic&&/^ {0,3}(?:=+|-+) *$/.test(p)&&this.rules.block.lheading.test(`${f}
${p}`)?`    ${u.replace(/^ {0,3}/,``)}`:p;a+=`
`+e,c=!0}m=!p.trim(),e=e.substring(l.length+1),f=u.slice(h)}}let ee=n.slice(l,r());o.loose||(c?o.loose=!0:this.rules.other.doubleBlankLine.test(ee)&&(c=!0)),o.items.push({type:`list_item`,raw:ee,task:!!this.options.gfm&&this.rules.other.listIsTask.test(a),loose:!1,text:a,tokens:[]})}let l=o.items.at(-1);if(l)l.raw=l.raw.trimEnd(),l.text=l.text.trimEnd();else return;o.raw=n.slice(0,r()).trimEnd();for(let e of o.items)if(this.lexer.state.top=!1,e.tokens=this.lexer.blockTokens(e.text,[]),!o.loose){let t=e.tokens.filter(e=>e.type===`space`);o.loose=t.length>0&&t.some(e=>this.rules.other.anyLine.test(e.raw))}for(let e of o.items){let t=e.tokens[0];if(e.task&&(t?.type===`text`||t?.type===`paragraph`)){e.text=e.text.replace(this.rules.other.listReplaceTask,``),t.raw=t.raw.replace(this.rules.other.listReplaceTask,``),t.text=t.text.replace(this.rules.other.listReplaceTask,``);for(let e=this.lexer.inlineQueue.length-1;e>=0;e--)if(this.rules.other.listIsTask.test(this.lexer.inlineQueue[e].src)){this.lexer.inlineQueue[e].src=this.lexer.inlineQueue[e].src.replace(this.rules.other.listReplaceTask,``);break}let n=this.rules.other.listTaskCheckbox.exec(e.raw);if(n){let t={type:`checkbox`,raw:n[0]+` `,checked:n[0]!==`[ ]`};e.checked=t.checked,o.loose?e.tokens[0]&&[`paragraph`,`text`].includes(e.tokens[0].type)&&`tokens`in e.tokens[0]&&e.tokens[0].tokens?(e.tokens[0].raw=t.raw+e.tokens[0].raw,e.tokens[0].text=t.raw+e.tokens[0].text,e.tokens[0].tokens.unshift(t)):e.tokens.unshift({type:`paragraph`,raw:t.raw,text:t.raw,tokens:[t]}):e.tokens.unshift(t)}}else e.task&&=!1}if(o.loose)for(let e of o.items){e.loose=!0;for(let t of e.tokens)t.type===`text`&&(t.type=`paragraph`)}return o}}html(e){let t=this.rules.block.html.exec(e);if(t){let e=An(t[0]);return{type:`html`,block:!0,raw:e,pre:t[1]===`pre`||t[1]===`script`||t[1]===`style`,text:e}}}def(e){let t=this.rules.block.def.exec(e);if(t){if(!this.rules.other.startAngleBracket.test(t[2])&&Mn(t[2],`()`)!==-1)return;let e=jn(t[1]),n=t[2]?t[2].replace(this.rules.other.hrefBrackets,`$1`).replace(this.rules.inline.anyPunctuation,`$1`):``,r=t[3]?t[3].substring(1,t[3].length-1).replace(this.rules.inline.anyPunctuation,`$1`):t[3];return{type:`def`,tag:e,raw:R(t[0],`
`),href:n,title:r}}}table(e){let t=this.rules.block.table.exec(e);if(!t||!this.rules.other.tableDelimiter.test(t[2]))return;let n=kn(t[1]),r=t[2].replace(this.rules.other.tableAlignChars,``).split(`|`),i=t[3]?.trim()?t[3].replace(this.rules.other.tableRowBlankLine,``).split(`
`):[],a={type:`table`,raw:R(t[0],`
`),header:[],align:[],rows:[]};if(n.length===r.length){for(let e of r)this.rules.other.tableAlignRight.test(e)?a.align.push(`right`):this.rules.other.tableAlignCenter.test(e)?a.align.push(`center`):this.rules.other.tableAlignLeft.test(e)?a.align.push(`left`):a.align.push(null);for(let e=0;e<n.length;e++)a.header.push({text:n[e],tokens:this.lexer.inline(n[e]),header:!0,align:a.align[e]});for(let e of i)a.rows.push(kn(e,a.header.length).map((e,t)=>({text:e,tokens:this.lexer.inline(e),header:!1,align:a.align[t]})));return a}}lheading(e){let t=this.rules.block.lheading.exec(e);if(t){let e=t[1].trim();return{type:`heading`,raw:R(t[0],`
`),depth:t[2].charAt(0)===`=`?1:2,text:e,tokens:this.lexer.inline(e)}}}paragraph(e){let t=this.rules.block.paragraph.exec(e);if(t){let e=t[1].charAt(t[1].length-1)===`
`?t[1].slice(0,-1):t[1];return{type:`paragraph`,raw:t[0],text:e,tokens:this.lexer.inline(e)}}}text(e){let t=this.rules.block.text.exec(e);if(t)return{type:`text`,raw:t[0],text:t[0],tokens:this.lexer.inline(t[0])}}escape(e){let t=this.rules.inline.escape.exec(e);if(t)return{type:`escape`,raw:t[0],text:t[1]}}tag(e){let t=this.rules.inline.tag.exec(e);if(t)return!this.lexer.state.inLink&&this.rules.other.startATag.test(t[0])?this.lexer.state.inLink=!0:this.lexer.state.inLink&&this.rules.other.endATag.test(t[0])&&(this.lexer.state.inLink=!1),!this.lexer.state.inRawBlock&&this.rules.other.startPreScriptTag.test(t[0])?this.lexer.state.inRawBlock=!0:this.lexer.state.inRawBlock&&this.rules.other.endPreScriptTag.test(t[0])&&(this.lexer.state.inRawBlock=!1),{type:`html`,raw:t[0],inLink:this.lexer.state.inLink,inRawBlock:this.lexer.state.inRawBlock,block:!1,text:t[0]}}link(e){if(this.lexer.state.linkParenPossible===!1)return;let t=this.rules.inline.link.exec(e);if(t){let n=t[0].charAt(0)===`!`?2:1;if(!this.options.pedantic&&Vn(e,t[1],n,this.rules))return;let r=t[2].trim();if(!this.options.pedantic&&this.rules.other.startAngleBracket.test(r)){if(!this.rules.other.endAngleBracket.test(r))return;let e=R(r.slice(0,-1),`\\`);if((r.length-e.length)%2==0)return}else{let e=Mn(t[2],`()`);if(e===-2)return;if(e>-1){let n=(t[0].indexOf(`!`)===0?5:4)+t[1].length+e;t[2]=t[2].substring(0,e),t[0]=t[0].substring(0,n).trim(),t[3]=``}}let i=R(t[0].slice(0,-1),`\\`);if((t[0].length-i.length)%2==0)return;let a=t[2],o=``;if(this.options.pedantic){let e=this.rules.other.pedanticHrefTitle.exec(a);e&&(a=e[1],o=e[3])}else o=t[3]?t[3].slice(1,-1):``;return a=a.trim(),this.rules.other.startAngleBracket.test(a)&&(a=this.options.pedantic&&!this.rules.other.endAngleBracket.test(r)?a.slice(1):a.slice(1,-1)),zn(t,{href:a&&a.replace(this.rules.inline.anyPunctuation,`$1`),title:o&&o.replace(this.rules.inline.anyPunctuation,`$1`)},t[0],this.lexer,this.rules)}}reflink(e,t){let n;if((n=this.rules.inline.reflink.exec(e))||(n=this.rules.inline.nolink.exec(e))){let r=n[0].charAt(0)===`!`?2:1;if(!this.options.pedantic&&Vn(e,n[1],r,this.rules))return;let i=t[jn(n[2]||n[1])];if(!i){let e=n[0].charAt(0);return{type:`text`,raw:e,text:e}}return zn(n,i,n[0],this.lexer,this.rules)}}emStrong(e,t,n=``){let r=this.rules.inline.emStrongLDelim.exec(e);if(!r||!r[1]&&!r[2]&&!r[3]&&!r[4])return;let i=r[0][0],a=n===i,o=t.length-e.length,s=o;for(;!this.options.pedantic&&s>0&&t[s-1]===i;)s--;let c=[...t.slice(Math.max(0,s-2),s)].at(-1)??``,l=c===`*`||c===`_`||!!this.rules.inline.punctuation.exec(c);s<o&&(n=c);let u=s<o?l:n===`*`||n===`_`||!!this.rules.inline.punctuation.exec(n);if(r[4]&&n.match(this.rules.other.unicodeAlphaNumeric))return;let d=r[1]||r[3]||``;if(!d||!n||u){let n=[...r[0]].length-1,u,f,p=n,m=0,h=o-s+n,ee=!this.options.pedantic&&!!c.trim()&&(!!d||i===`*`&&!l);if(i!==`*`&&i!==`_`)return;let te=i===`*`?this.rules.inline.emStrongRDelimAst:this.rules.inline.emStrongRDelimUnd,ne=In(this,t,i),g=t.length-e.length+n;if(ne<g)return;t=t.slice(-1*e.length+n);let re=ne-g;for(te.lastIndex=0;(r=te.exec(t))!==null&&!(r.index>re);){if(u=r[1]||r[2]||r[3]||r[4]||r[5]||r[6],!u)continue;if(f=[...u].length,r[3]||r[4]){p+=f;continue}if(r[5]||r[6]||ee){if(a&&(r[5]||r[6]))break;if(h%3&&!((h+f)%3)){m+=f;continue}}if(p-=f,p>0)continue;f=Math.min(f,f+p+m);let t=[...r[0]][0].length,i=e.slice(0,n+r.index+t+f);if(Math.min(n,f)%2){let e=i.slice(1,-1);return{type:`em`,raw:i,text:e,tokens:this.lexer.inlineTokens(e)}}let o=i.slice(2,-2);return{type:`strong`,raw:i,text:o,tokens:this.lexer.inlineTokens(o)}}}}codespan(e){let t=this.rules.inline.code.exec(e);if(t){let e=t[2].replace(this.rules.other.newLineCharGlobal,` `),n=this.rules.other.nonSpaceChar.test(e),r=this.rules.other.startingSpaceChar.test(e)&&this.rules.other.endingSpaceChar.test(e);return n&&r&&(e=e.substring(1,e.length-1)),{type:`codespan`,raw:t[0],text:e}}}br(e){let t=this.rules.inline.br.exec(e);if(t)return{type:`br`,raw:t[0]}}del(e,t,n=``){let r=this.rules.inline.delLDelim.exec(e);if(r&&(!r[1]||!n||this.rules.inline.punctuation.exec(n))){let n=[...r[0]].length-1,i,a,o=n,s=this.rules.inline.delRDelim,c=Ln(this,t),l=t.length-e.length+n;if(c<l)return;t=t.slice(-1*e.length+n);let u=c-l;for(s.lastIndex=0;(r=s.exec(t))!==null&&!(r.index>u);){if(i=r[1]||r[2]||r[3]||r[4]||r[5]||r[6],!i||(a=[...i].length,a!==n))continue;if(r[3]||r[4]){o+=a;continue}if(o-=a,o>0)continue;a=Math.min(a,a+o);let t=[...r[0]][0].length,s=e.slice(0,n+r.index+t+a),c=s.slice(n,-n);return{type:`del`,raw:s,text:c,tokens:this.lexer.inlineTokens(c)}}}}autolink(e){let t=this.rules.inline.autolink.exec(e);if(t){let e,n;return t[2]===`@`?(e=t[1],n=`mailto:`+e):(e=t[1],n=e),{type:`link`,raw:t[0],text:e,href:n,autolink:!0,tokens:[{type:`text`,raw:e,text:e}]}}}url(e){let t;if(t=this.rules.inline.url.exec(e)){let e,n;if(t[2]===`@`)e=t[0],n=`mailto:`+e;else{let r;do r=t[0],t[0]=this.rules.inline._backpedal.exec(t[0])?.[0]??``;while(r!==t[0]);e=t[0],n=t[1]===`www.`?`http://`+t[0]:t[0]}return{type:`link`,raw:t[0],text:e,href:n,autolink:!0,tokens:[{type:`text`,raw:e,text:e}]}}}inlineText(e){let t=this.rules.inline.text.exec(e);if(t){let e=this.lexer.state.inRawBlock;return{type:`text`,raw:t[0],text:e?t[0]:Dn(t[0]),escaped:e}}}},V=class e{tokens;options;state;inlineQueue;tokenizer;constructor(e){this.tokens=[],this.tokens.links=Object.create(null),this.options=e||k,this.options.tokenizer=this.options.tokenizer||new B,this.tokenizer=this.options.tokenizer,this.tokenizer.options=this.options,this.tokenizer.lexer=this,this.inlineQueue=[],this.state={inLink:!1,inRawBlock:!1,linkEmitted:!1,linkParenPossible:!0,top:!0};let t={other:N,block:Cn.normal,inline:wn.normal};this.options.pedantic?(t.block=Cn.pedantic,t.inline=wn.pedantic):this.options.gfm&&(t.block=Cn.gfm,t.inline=this.options.breaks?wn.breaks:wn.gfm),this.tokenizer.rules=t}static get rules(){return{block:Cn,inline:wn}}static lex(t,n){return new e(n).lex(t)}static lexInline(t,n){return new e(n).inlineTokens(t)}lex(e){e=e.replace(N.carriageReturn,`
`),this.blockTokens(e,this.tokens);for(let e=0;e<this.inlineQueue.length;e++){let t=this.inlineQueue[e];this.state.inRawBlock=!1,this.inlineTokens(t.src,t.tokens)}return this.inlineQueue=[],this.tokens}blockTokens(e,t=[],n=!1){this.tokenizer.lexer=this;let r=this.state.lastToken;this.options.pedantic&&(e=e.replace(N.tabCharGlobal,`    `).replace(N.spaceLine,``));let i=1/0;for(;e;){if(e.length<i)i=e.length;else{this.infiniteLoopError(e.charCodeAt(0));break}this.state.lastToken=t.at(-1);let r;if(this.options.extensions?.block?.some(n=>(r=n.call({lexer:this},e,t))?(e=e.substring(r.raw.length),t.push(r),!0):!1))continue;if(r=this.tokenizer.space(e)){e=e.substring(r.raw.length);let n=t.at(-1);r.raw.length===1&&n!==void 0?n.raw+=`
`:t.push(r);continue}if(r=this.tokenizer.code(e)){e=e.substring(r.raw.length);let n=t.at(-1);n?.type===`paragraph`||n?.type===`text`?(n.raw+=(n.raw.endsWith(`
`)?``:`
`)+r.raw,n.text+=`
`+r.text,this.inlineQueue.at(-1).src=n.text):t.push(r);continue}if((r=this.tokenizer.fences(e))||(r=this.tokenizer.heading(e))||(r=this.tokenizer.hr(e))||(r=this.tokenizer.blockquote(e))||(r=this.tokenizer.list(e))||(r=this.tokenizer.html(e))){e=e.substring(r.raw.length),t.push(r);continue}if(r=this.tokenizer.def(e)){e=e.substring(r.raw.length);let n=t.at(-1);n?.type===`paragraph`||n?.type===`text`?(n.raw+=(n.raw.endsWith(`
`)?``:`
`)+r.raw,n.text+=`
`+r.raw,this.inlineQueue.at(-1).src=n.text):(this.tokens.links[r.tag]||(this.tokens.links[r.tag]={href:r.href,title:r.title}),t.push(r));continue}if((r=this.tokenizer.table(e))||(r=this.tokenizer.lheading(e))){e=e.substring(r.raw.length),t.push(r);continue}let a=e;if(this.options.extensions?.startBlock){let t=1/0,n=e.slice(1),r;this.options.extensions.startBlock.forEach(e=>{r=e.call({lexer:this},n),typeof r==`number`&&r>=0&&(t=Math.min(t,r))}),t<1/0&&t>=0&&(a=e.substring(0,t+1))}if(this.state.top&&(r=this.tokenizer.paragraph(a))){let i=t.at(-1);n&&i?.type===`paragraph`?(i.raw+=(i.raw.endsWith(`
`)?``:`
`)+r.raw,i.text+=`
`+r.text,this.inlineQueue.pop(),this.inlineQueue.at(-1).src=i.text):t.push(r),n=a.length!==e.length,e=e.substring(r.raw.length)}else if(r=this.tokenizer.text(e)){e=e.substring(r.raw.length);let n=t.at(-1);n?.type===`text`?(n.raw+=(n.raw.endsWith(`
`)?``:`
`)+r.raw,n.text+=`
`+r.text,this.inlineQueue.pop(),this.inlineQueue.at(-1).src=n.text):t.push(r)}else if(e){this.infiniteLoopError(e.charCodeAt(0));break}}return this.state.top=!0,this.state.lastToken=r,t}inline(e,t=[]){return this.inlineQueue.push({src:e,tokens:t}),t}linkInText(e){if(!e.includes(`[`))return!1;let t=this.tokenizer.rules.inline.link;for(let n of e.matchAll(this.tokenizer.rules.inline.blockSkip))if(t.test(n[0])&&e.charAt(n.index-1)!==`!`)return!0;for(let t of e.matchAll(this.tokenizer.rules.inline.reflinkSearch)){let e=t[0],n=e.lastIndexOf(`[`);if(e.charAt(0)!==`!`&&Object.hasOwn(this.tokens.links,jn(e.slice(n+1,-1)))&&!(n>1&&this.linkInText(e.slice(1,n-1))))return!0}return!1}inlineTokens(e,t=[]){this.tokenizer.lexer=this;let n=this.state.linkParenPossible;this.state.linkParenPossible=n&&e.includes(`)`);try{return this.#e(e,t)}finally{this.state.linkParenPossible=n}}#e(e,t){let n=e.includes(`*`)||e.includes(`_`)||e.includes(`~`)||this.options.hooks?.emStrongMask||this.tokenizer.emStrong!==B.prototype.emStrong||this.tokenizer.del!==B.prototype.del?this.#r(e):e;Pn(this.tokenizer,n);try{return this.#t(e,n,t)}finally{Fn(this.tokenizer)}}#t(e,t,n){let r=!1,i=``,a=1/0;for(;e;){if(e.length<a)a=e.length;else{this.infiniteLoopError(e.charCodeAt(0));break}r||(i=``),r=!1;let o;if(this.options.extensions?.inline?.some(t=>(o=t.call({lexer:this},e,n))?(e=e.substring(o.raw.length),n.push(o),!0):!1))continue;if((o=this.tokenizer.escape(e))||(o=this.tokenizer.tag(e))||(o=this.tokenizer.link(e))){e=e.substring(o.raw.length),n.push(o);continue}if(o=this.tokenizer.reflink(e,this.tokens.links)){e=e.substring(o.raw.length);let t=n.at(-1);o.type===`text`&&t?.type===`text`?(t.raw+=o.raw,t.text+=o.text):n.push(o);continue}if((o=this.tokenizer.emStrong(e,t,i))||(o=this.tokenizer.codespan(e))||(o=this.tokenizer.br(e))||(o=this.tokenizer.del(e,t,i))||(o=this.tokenizer.autolink(e))||!this.state.inLink&&(o=this.tokenizer.url(e))){e=e.substring(o.raw.length),n.push(o);continue}let s=e;if(this.options.extensions?.startInline){let t=1/0,n=e.slice(1),r;this.options.extensions.startInline.forEach(e=>{r=e.call({lexer:this},n),typeof r==`number`&&r>=0&&(t=Math.min(t,r))}),t<1/0&&t>=0&&(s=e.substring(0,t+1))}if(o=this.tokenizer.inlineText(s)){e=e.substring(o.raw.length),o.raw.slice(-1)!==`_`&&(i=o.raw.slice(-1)),r=!0;let t=n.at(-1);t?.type===`text`?(t.raw+=o.raw,t.text+=o.text):n.push(o)}else if(e){this.infiniteLoopError(e.charCodeAt(0));break}}return n}#n(e){let{blockSkip:t,tag:n,autolink:r}=this.tokenizer.rules.inline,i=``,a=0,o;for(t.lastIndex=0;o=t.exec(e);){let s=o.index+(o[2]?o[2].length:0),c=o.index+o[0].length;if(e.charAt(s)===`<`){let i=e.slice(s),a=n.exec(i)||r.exec(i);if(!a){t.lastIndex=s+1;continue}c=s+a[0].length,t.lastIndex=c}i+=e.slice(a,s)+`[`+`a`.repeat(c-s-2)+`]`,a=c}return i+e.slice(a)}#r(e){let t=e;if(this.tokens.links&&e.includes(`[`)){let e=this.tokenizer.rules.inline.reflinkSearch,n=t=>{let r=t.lastIndexOf(`[`);if(!Object.hasOwn(this.tokens.links,jn(t.slice(r+1,-1))))return t;if(r>1&&t.charAt(0)!==`!`){let i=t.slice(1,r-1);if(this.linkInText(i))return`[`+i.replace(e,n)+`][`+`a`.repeat(t.length-r-2)+`]`}return`[`+`a`.repeat(t.length-2)+`]`};t=t.replace(e,n)}return t=t.replace(this.tokenizer.rules.inline.anyPunctuationOutsideCode,(e,t,n)=>n?`+`.repeat(e.length):t?t+e.slice(t.length,-t.length).replace(/`/g,`+`)+t:e),t=this.#n(t),t=this.options.hooks?.emStrongMask?.call({lexer:this},t)??t,t}infiniteLoopError(e){let t=`Infinite loop on byte: `+e;if(this.options.silent)console.error(t);else throw Error(t)}},Hn=class{options;parser;constructor(e){this.options=e||k}space(e){return``}code({text:e,lang:t,escaped:n}){let r=(t||``).match(N.notSpaceStart)?.[0],i=e?e.replace(N.endingNewline,``)+`
`:``;return r?`<pre><code class="language-`+L(r)+`">`+(n?i:L(i,!0))+`</code></pre>
`:`<pre><code>`+(n?i:L(i,!0))+`</code></pre>
`}blockquote({tokens:e}){return`<blockquote>
${this.parser.parse(e)}</blockquote>
`}html({text:e}){return e}def(e){return``}heading({tokens:e,depth:t}){return`<h${t}>${this.parser.parseInline(e)}</h${t}>
`}hr(e){return`<hr>
`}list(e){let t=e.ordered,n=e.start,r=``;for(let t=0;t<e.items.length;t++){let n=e.items[t];r+=this.listitem(n)}let i=t?`ol`:`ul`,a=t&&n!==1?` start="`+n+`"`:``;return`<`+i+a+`>
`+r+`</`+i+`>
`}listitem(e){return`<li>${this.parser.parse(e.tokens)}</li>
`}checkbox({checked:e}){return`<input `+(e?`checked="" `:``)+`disabled="" type="checkbox"> `}paragraph({tokens:e}){return`<p>${this.parser.parseInline(e)}</p>
`}table(e){let t=``,n=``;for(let t=0;t<e.header.length;t++)n+=this.tablecell(e.header[t]);t+=this.tablerow({text:n});let r=``;for(let t=0;t<e.rows.length;t++){let i=e.rows[t];n=``;for(let e=0;e<i.length;e++)n+=this.tablecell(i[e]);r+=this.tablerow({text:n})}return r&&=`<tbody>${r}</tbody>`,`<table>
<thead>
`+t+`</thead>
`+r+`</table>
`}tablerow({text:e}){return`<tr>
${e}</tr>
`}tablecell(e){let t=this.parser.parseInline(e.tokens),n=e.header?`th`:`td`;return(e.align?`<${n} align="${e.align}">`:`<${n}>`)+t+`</${n}>
`}strong({tokens:e}){return`<strong>${this.parser.parseInline(e)}</strong>`}em({tokens:e}){return`<em>${this.parser.parseInline(e)}</em>`}codespan({text:e}){return`<code>${L(e,!0)}</code>`}br(e){return`<br>`}del({tokens:e}){return`<del>${this.parser.parseInline(e)}</del>`}link({href:e,title:t,text:n,tokens:r,autolink:i}){let a=i?L(n,!0):this.parser.parseInline(r),o=On(e);if(o===null)return a;e=L(o,i);let s=`<a href="`+e+`"`;return t&&(s+=` title="`+L(t)+`"`),s+=`>`+a+`</a>`,s}image({href:e,title:t,text:n,tokens:r}){r&&(n=this.parser.parseInline(r,this.parser.textRenderer));let i=On(e);if(i===null)return L(n);e=i;let a=`<img src="${L(e)}" alt="${L(n)}"`;return t&&(a+=` title="${L(t)}"`),a+=`>`,a}text(e){return`tokens`in e&&e.tokens?this.parser.parseInline(e.tokens):`escaped`in e&&e.escaped?e.text:L(e.text)}},Un=class{parser;strong({text:e,tokens:t}){return t?this.parser.parseInline(t,this):e}em({text:e,tokens:t}){return t?this.parser.parseInline(t,this):e}codespan({text:e}){return e}del({text:e,tokens:t}){return t?this.parser.parseInline(t,this):e}html({text:e}){return e}text({text:e}){return e}link({text:e,tokens:t}){return t?this.parser.parseInline(t,this):e}image({text:e,tokens:t}){return t?this.parser.parseInline(t,this):e}br(){return`
`}checkbox({raw:e}){return e}},H=class e{options;renderer;textRenderer;constructor(e){this.options=e||k,this.options.renderer=this.options.renderer||new Hn,this.renderer=this.options.renderer,this.renderer.options=this.options,this.renderer.parser=this,this.textRenderer=new Un,this.textRenderer.parser=this}static parse(t,n){return new e(n).parse(t)}static parseInline(t,n){return new e(n).parseInline(t)}parse(e){this.renderer.parser=this;let t=``;for(let n=0;n<e.length;n++){let r=e[n];if(this.options.extensions?.renderers?.[r.type]){let e=r,n=this.options.extensions.renderers[e.type].call({parser:this},e);if(n!==!1||![`space`,`hr`,`heading`,`code`,`table`,`blockquote`,`list`,`checkbox`,`html`,`def`,`paragraph`,`text`].includes(e.type)){t+=n===!1?``:n??``;continue}}let i=r;switch(i.type){case`space`:t+=this.renderer.space(i);break;case`hr`:t+=this.renderer.hr(i);break;case`heading`:t+=this.renderer.heading(i);break;case`code`:t+=this.renderer.code(i);break;case`table`:t+=this.renderer.table(i);break;case`blockquote`:t+=this.renderer.blockquote(i);break;case`list`:t+=this.renderer.list(i);break;case`checkbox`:t+=this.renderer.checkbox(i);break;case`html`:t+=this.renderer.html(i);break;case`def`:t+=this.renderer.def(i);break;case`paragraph`:t+=this.renderer.paragraph(i);break;case`text`:t+=this.renderer.text(i);break;default:{let e=`Token with "`+i.type+`" type was not found.`;if(this.options.silent)return console.error(e),``;throw Error(e)}}}return t}parseInline(e,t=this.renderer){this.renderer.parser=this;let n=``;for(let r=0;r<e.length;r++){let i=e[r];if(this.options.extensions?.renderers?.[i.type]){let e=this.options.extensions.renderers[i.type].call({parser:this},i);if(e!==!1||![`escape`,`html`,`link`,`image`,`checkbox`,`strong`,`em`,`codespan`,`br`,`del`,`text`].includes(i.type)){n+=e===!1?``:e??``;continue}}let a=i;switch(a.type){case`escape`:n+=t.text(a);break;case`html`:n+=t.html(a);break;case`link`:n+=t.link(a);break;case`image`:n+=t.image(a);break;case`checkbox`:n+=t.checkbox(a);break;case`strong`:n+=t.strong(a);break;case`em`:n+=t.em(a);break;case`codespan`:n+=t.codespan(a);break;case`br`:n+=t.br(a);break;case`del`:n+=t.del(a);break;case`text`:n+=t.text(a);break;default:{let e=`Token with "`+a.type+`" type was not found.`;if(this.options.silent)return console.error(e),``;throw Error(e)}}}return n}},Wn=class{options;block;constructor(e){this.options=e||k}static passThroughHooks=new Set([`preprocess`,`postprocess`,`processAllTokens`,`emStrongMask`]);static passThroughHooksRespectAsync=new Set([`preprocess`,`postprocess`,`processAllTokens`]);preprocess(e){return e}postprocess(e){return e}processAllTokens(e){return e}emStrongMask(e){return e}provideLexer(e=this.block){return e?V.lex:V.lexInline}provideParser(e=this.block){return e?H.parse:H.parseInline}};function U(e,t){if(Array.isArray(t))for(let n=0;n<t.length;n++)e.push(t[n]);else e.push(t)}var Gn=class{defaults=ct();options=this.setOptions;parse=this.parseMarkdown(!0);parseInline=this.parseMarkdown(!1);Parser=H;Renderer=Hn;TextRenderer=Un;Lexer=V;Tokenizer=B;Hooks=Wn;constructor(...e){this.use(...e)}walkTokens(e,t){let n=[];for(let r of e)switch(U(n,t.call(this,r)),r.type){case`table`:{let e=r;for(let r of e.header)U(n,this.walkTokens(r.tokens,t));for(let r of e.rows)for(let e of r)U(n,this.walkTokens(e.tokens,t));break}case`list`:{let e=r;U(n,this.walkTokens(e.items,t));break}default:{let e=r;this.defaults.extensions?.childTokens?.[e.type]?this.defaults.extensions.childTokens[e.type].forEach(r=>{let i=e[r].flat(1/0);U(n,this.walkTokens(i,t))}):e.tokens&&U(n,this.walkTokens(e.tokens,t))}}return n}use(...e){let t=this.defaults.extensions||{renderers:Object.create(null),childTokens:Object.create(null)};return e.forEach(e=>{let n={...e};if(n.async=this.defaults.async||n.async||!1,e.extensions&&(e.extensions.forEach(e=>{if(!e.name)throw Error(`extension name required`);if(`renderer`in e){let n=t.renderers[e.name];n?t.renderers[e.name]=function(...t){let r=e.renderer.apply(this,t);return r===!1&&(r=n.apply(this,t)),r}:t.renderers[e.name]=e.renderer}if(`tokenizer`in e){if(!e.level||e.level!==`block`&&e.level!==`inline`)throw Error(`extension level must be 'block' or 'inline'`);let n=t[e.level];n?n.unshift(e.tokenizer):t[e.level]=[e.tokenizer],e.start&&(e.level===`block`?t.startBlock?t.startBlock.push(e.start):t.startBlock=[e.start]:e.level===`inline`&&(t.startInline?t.startInline.push(e.start):t.startInline=[e.start]))}`childTokens`in e&&e.childTokens&&(t.childTokens[e.name]=e.childTokens)}),n.extensions=t),e.renderer){let t=this.defaults.renderer||new Hn(this.defaults);for(let n in e.renderer){if(!(n in t))throw Error(`renderer '${n}' does not exist`);if([`options`,`parser`].includes(n))continue;let r=n,i=e.renderer[r],a=t[r];t[r]=(...e)=>{let n=i.apply(t,e);return n===!1&&(n=a.apply(t,e)),n===!1?``:n??``}}n.renderer=t}if(e.tokenizer){let t=this.defaults.tokenizer||new B(this.defaults);for(let n in e.tokenizer){if(!(n in t))throw Error(`tokenizer '${n}' does not exist`);if([`options`,`rules`,`lexer`].includes(n))continue;let r=n,i=e.tokenizer[r],a=t[r];t[r]=(...e)=>{let n=i.apply(t,e);return n===!1&&(n=a.apply(t,e)),n}}n.tokenizer=t}if(e.hooks){let t=this.defaults.hooks||new Wn;for(let n in e.hooks){if(!(n in t))throw Error(`hook '${n}' does not exist`);if([`options`,`block`].includes(n))continue;let r=n,i=e.hooks[r],a=t[r];t[r]=Wn.passThroughHooks.has(n)?e=>{if(t.options.async&&Wn.passThroughHooksRespectAsync.has(n))return(async()=>{let n=await i.call(t,e);return a.call(t,n)})();let r=i.call(t,e);return a.call(t,r)}:(...e)=>{if(t.options.async)return(async()=>{let n=await i.apply(t,e);return n===!1&&(n=await a.apply(t,e)),n})();let n=i.apply(t,e);return n===!1&&(n=a.apply(t,e)),n}}n.hooks=t}if(e.walkTokens){let t=this.defaults.walkTokens,r=e.walkTokens;n.walkTokens=function(e){let n=[];return U(n,r.call(this,e)),t&&U(n,t.call(this,e)),n}}this.defaults={...this.defaults,...n}}),this}setOptions(e){return this.defaults={...this.defaults,...e},this}lexer(e,t){return V.lex(e,t??this.defaults)}parser(e,t){return H.parse(e,t??this.defaults)}parseMarkdown(e){return(t,n)=>{let r={...n},i={...this.defaults,...r},a=this.onError(!!i.silent,!!i.async);if(this.defaults.async===!0&&r.async===!1)return a(Error(`marked(): The async option was set to true by an extension. Remove async: false from the parse options object to return a Promise.`));if(typeof t>`u`||t===null)return a(Error(`marked(): input parameter is undefined or null`));if(typeof t!=`string`)return a(Error(`marked(): input parameter is of type `+Object.prototype.toString.call(t)+`, string expected`));if(i.hooks&&(i.hooks.options=i,i.hooks.block=e),i.async)return(async()=>{let n=i.hooks?await i.hooks.preprocess(t):t,r=await(i.hooks?await i.hooks.provideLexer(e):e?V.lex:V.lexInline)(n,i),a=i.hooks?await i.hooks.processAllTokens(r):r;i.walkTokens&&await Promise.all(this.walkTokens(a,i.walkTokens));let o=await(i.hooks?await i.hooks.provideParser(e):e?H.parse:H.parseInline)(a,i);return i.hooks?await i.hooks.postprocess(o):o})().catch(a);try{i.hooks&&(t=i.hooks.preprocess(t));let n=(i.hooks?i.hooks.provideLexer(e):e?V.lex:V.lexInline)(t,i);i.hooks&&(n=i.hooks.processAllTokens(n)),i.walkTokens&&this.walkTokens(n,i.walkTokens);let r=(i.hooks?i.hooks.provideParser(e):e?H.parse:H.parseInline)(n,i);return i.hooks&&(r=i.hooks.postprocess(r)),r}catch(e){return a(e)}}}onError(e,t){return n=>{if(n.message+=`
Please report this to https://github.com/markedjs/marked.`,e){let e=`<p>An error occurred:</p><pre>`+L(n.message+``,!0)+`</pre>`;return t?Promise.resolve(e):e}if(t)return Promise.reject(n);throw n}}},W=new Gn;function G(e,t){return W.parse(e,t)}G.options=G.setOptions=function(e){return W.setOptions(e),G.defaults=W.defaults,lt(G.defaults),G},G.getDefaults=ct,G.defaults=k;function Kn(...e){return W.use(...e),G.defaults=W.defaults,lt(G.defaults),G}G.use=Kn,G.walkTokens=function(e,t){return W.walkTokens(e,t)},G.parseInline=W.parseInline,G.Parser=H,G.parser=H.parse,G.Renderer=Hn,G.TextRenderer=Un,G.Lexer=V,G.lexer=V.lex,G.Tokenizer=B,G.Hooks=Wn,G.parse=G,G.options,G.setOptions,G.walkTokens,G.parseInline,H.parse,V.lex;var qn={name:`mark`,level:`inline`,start:e=>sr(e,`﷐`),tokenizer(e){let t=rt.exec(e);if(t)return{type:`mark`,raw:t[0],claim:Number(t[1]),number:Number(t[2])}}},Jn=/^\[((?:[^[\]\\`!^@|={}$;]|`[^`]*`)+)\](?:(\[[^[\]\n^]*\])|(?!\(|\[(?!\^)))/,Yn={name:`reference`,level:`inline`,start:e=>sr(e,`[`),tokenizer(e,t){let n=/^\[\^[^[\]\n]+\]/.exec(e);if(n)return{type:`reference`,raw:n[0],tokens:[]};let r=Jn.exec(e),i=r?.[1]??``,a=r?.[2]!==void 0||/\p{L}{3}|`/u.test(i);if(r&&a&&i===i.trim()&&!/[\w)\]!]$/.test(t.at(-1)?.raw??``))return{type:`reference`,raw:r[0],tokens:this.lexer.inlineTokens(i)}}},Xn={name:`math`,level:`inline`,start:e=>sr(e,`$`),tokenizer(e){let t=/^\$\$([^$]+)\$\$|^\$([^\s$]|[^\s$][^$\n]*[^\s$\\])\$(?!\d)/.exec(e);if(!t)return;let n=t[1]??t[2]??``;return{type:`math`,raw:t[0],tex:n,display:t[1]!==void 0}}},Zn={name:`math`,level:`block`,start:e=>sr(e,`$$`),tokenizer(e){let t=/^ {0,3}\$\$([^$]+)\$\$[ \t]*(?:\n|$)/.exec(e);if(t)return{type:`math`,raw:t[0],tex:(t[1]??``).trim(),display:!0}}},Qn=new Gn({gfm:!0});Qn.use({extensions:[Zn,Xn,qn,Yn]});function $n(e){let t=or(e);if(t.length>4e4)return ir(t);try{return nr(ar(t)).filter(({type:e})=>e!==`space`&&e!==`def`)}catch{return ir(t)}}var er=1500,tr=4e3;function nr(e){let t=new V(Qn.defaults);t.blockTokens(e,t.tokens);for(let{src:e,tokens:n}of t.inlineQueue)for(let r of rr(e,er))t.inlineTokens(r,n);return t.tokens}function rr(e,t){let n=[],r=e;for(;r.length>t;){let e=r.slice(0,t),i=[e.lastIndexOf(`﷑`),e.lastIndexOf(` `)].find(e=>e>0)??t-1;n.push(r.slice(0,i+1)),r=r.slice(i+1)}return[...n,r]}function ir(e){return rr(e,tr).map(e=>({type:`plain`,raw:e,text:e}))}function ar(e){return e.replace(/^((?:[ \t]*>){8})(?:[ \t]*>)+/gm,`$1`)}function or(e){return e.replace(/[\u202A-\u202E\u2066-\u2069]/g,``)}function sr(e,t){let n=e.indexOf(t);return n<0?void 0:n}var cr=160,lr=/^[ \t]*:{3,}[ \t]*[\w-]*[ \t]*(?:\[([^\]\n]*)\]|(.*))$/gm;function ur(e){let t=dr(e.replace(lr,`$1$2`));return t.length>cr?`${t.slice(0,cr).replace(/\s+\S*$/,``)}…`:t}function dr(e){return $n(e).map(fr).join(` `).replace(/\s+/g,` `).trim()}function fr(e){switch(e.type){case`mark`:return``;case`table`:{let{header:t,rows:n}=e;return[t,...n].map(e=>e.map(e=>pr(e.tokens)).join(`, `)).join(`; `)}case`list`:return e.items.map(e=>pr(e.tokens)).join(` `);case`code`:case`codespan`:case`escape`:return e.text;case`image`:return e.text;case`math`:return String(e.tex);case`br`:return` `;default:return`tokens`in e&&e.tokens?pr(e.tokens):e.raw}}function pr(e){return e.map(fr).join(``)}var mr={open:`Ask the book`,title:`Ask the book`,close:`Close`,newConversation:`New conversation`,cleared:`New conversation.`,conversation:`Conversation`,welcome:`Ask this book anything. Every sentence is checked and links to where it says so.`,starters:`Start reading`,placeholder:`Ask about the book…`,question:`Your question`,send:`Ask`,stop:`Stop`,counter:`{count} of {limit} characters`,tooLong:`{over} characters too many`,onlyChapter:`Only in “{chapter}”`,inChapter:`Searched only in “{chapter}”`,you:`You asked`,answer:`Answer`,queued:`Next in line`,remove:`Remove`,searching:`Searching the book…`,checking:`Checking each sentence against the book…`,reconnecting:`Connection lost. Picking up where we left off…`,stopped:`Stopped. Everything above is checked.`,stoppedEarly:`Stopped before the first sentence.`,askAgain:`Ask again`,retry:`Try again`,retryIn:`Try again in {wait}`,offline:`You are offline`,offlineDetail:`We'll ask as soon as you're back online.`,unreachable:`Can't reach the book right now`,unreachableDetail:`Your question is saved.`,rate:`Too many questions at once`,rateDetail:`The service asks you to wait a little. Your question is kept.`,busy:`The service cannot answer right now`,lost:`The connection was lost`,lostDetail:`The answer is not complete. What you see was checked.`,refused:`That question couldn't be sent`,request:`Request {id}`,notInBook:`I couldn't find that in the book.`,notInChapter:`I couldn't find that in this chapter.`,noDirectAnswer:`I couldn't find a direct answer.`,closest:`The closest section is:`,notInSelection:`The selected text doesn't answer that.`,askBook:`Search the whole book`,fromSelection:`Selected text`,askAbout:`Ask about this`,selected:`Your selection`,removeSelection:`Remove the selection`,sources:`Sources`,quoteOne:`1 quote`,quoteMany:`{count} quotes`,sectionOne:`1 section`,sectionMany:`{count} sections`,doubt:`May not answer your question`,source:`Source {number}: {place}`,supported:`Proven`,partly:`Partly proven`,unsupported:`Not proven`,contradicted:`The book says otherwise`,ofHeading:`A heading of the book`,ofSelection:`From your selection`,goTo:`Show in book`,elsewhere:`opens in a new tab`,sameBook:`in this book`,withheldOne:`1 sentence removed: the book doesn't back it up`,withheldMany:`{count} sentences removed: the book doesn't back them up`,not_kept:`This answer could not be stored.`,embedded_answer:`The language model is not available; the book is quoted instead.`,copy:`Copy`,copyAnswer:`Copy with sources`,copied:`Copied`,notCopied:`Could not copy`,code:`Code`,table:`Table`,formula:`Formula`,helpful:`Helpful`,notHelpful:`Not helpful`,whatWasWrong:`What could be better?`,wrong:`Incorrect`,incomplete:`Something is missing`,off_topic:`Not what I asked`,unclear:`Hard to understand`,comment:`Anything else? (optional)`,sendFeedback:`Send`,cancel:`Cancel`,thanks:`Thanks, that helps.`,notRated:`Could not be sent. Try again.`},hr={en:mr,de:{open:`Das Buch fragen`,title:`Das Buch fragen`,close:`Schließen`,newConversation:`Neues Gespräch`,cleared:`Neues Gespräch.`,conversation:`Gespräch`,welcome:`Frag dieses Buch, was du willst. Jeder Satz ist geprüft und führt zu der Stelle, an der er steht.`,starters:`Anfangen zu lesen`,placeholder:`Frag das Buch …`,question:`Deine Frage`,send:`Fragen`,stop:`Anhalten`,counter:`{count} von {limit} Zeichen`,tooLong:`{over} Zeichen zu viel`,onlyChapter:`Nur in „{chapter}“`,inChapter:`Nur in „{chapter}“ gesucht`,you:`Du hast gefragt`,answer:`Antwort`,queued:`Kommt als Nächstes`,remove:`Entfernen`,searching:`Das Buch wird durchsucht …`,checking:`Jeder Satz wird am Buch geprüft …`,reconnecting:`Verbindung verloren. Es geht dort weiter, wo wir waren …`,stopped:`Angehalten. Alles oben ist geprüft.`,stoppedEarly:`Vor dem ersten Satz angehalten.`,askAgain:`Noch einmal fragen`,retry:`Erneut versuchen`,retryIn:`Erneut versuchen in {wait}`,offline:`Du bist offline`,offlineDetail:`Wir fragen, sobald du wieder online bist.`,unreachable:`Das Buch ist gerade nicht erreichbar`,unreachableDetail:`Deine Frage ist gespeichert.`,rate:`Zu viele Fragen auf einmal`,rateDetail:`Der Dienst bittet um etwas Geduld. Deine Frage bleibt hier.`,busy:`Der Dienst kann gerade nicht antworten`,lost:`Die Verbindung ging verloren`,lostDetail:`Die Antwort ist nicht vollständig. Was du siehst, ist geprüft.`,refused:`Diese Frage konnte nicht gesendet werden`,request:`Anfrage {id}`,notInBook:`Das habe ich im Buch nicht gefunden.`,notInChapter:`Das habe ich in diesem Kapitel nicht gefunden.`,noDirectAnswer:`Ich habe keine direkte Antwort gefunden.`,closest:`Der nächstliegende Abschnitt:`,notInSelection:`Der ausgewählte Text beantwortet das nicht.`,askBook:`Das ganze Buch durchsuchen`,fromSelection:`Ausgewählter Text`,askAbout:`Dazu fragen`,selected:`Deine Auswahl`,removeSelection:`Auswahl entfernen`,sources:`Quellen`,quoteOne:`1 Zitat`,quoteMany:`{count} Zitate`,sectionOne:`1 Abschnitt`,sectionMany:`{count} Abschnitte`,doubt:`Beantwortet deine Frage vielleicht nicht`,source:`Quelle {number}: {place}`,supported:`Belegt`,partly:`Teilweise belegt`,unsupported:`Nicht belegt`,contradicted:`Das Buch sagt etwas anderes`,ofHeading:`Eine Überschrift des Buchs`,ofSelection:`Aus deiner Auswahl`,goTo:`Im Buch zeigen`,elsewhere:`öffnet einen neuen Tab`,sameBook:`in diesem Buch`,withheldOne:`1 Satz entfernt: Das Buch belegt ihn nicht`,withheldMany:`{count} Sätze entfernt: Das Buch belegt sie nicht`,not_kept:`Diese Antwort konnte nicht gespeichert werden.`,embedded_answer:`Das Sprachmodell ist nicht verfügbar; stattdessen wird das Buch zitiert.`,copy:`Kopieren`,copyAnswer:`Mit Quellen kopieren`,copied:`Kopiert`,notCopied:`Kopieren ging nicht`,code:`Code`,table:`Tabelle`,formula:`Formel`,helpful:`Hilfreich`,notHelpful:`Nicht hilfreich`,whatWasWrong:`Was könnte besser sein?`,wrong:`Falsch`,incomplete:`Es fehlt etwas`,off_topic:`Danach habe ich nicht gefragt`,unclear:`Schwer zu verstehen`,comment:`Noch etwas? (freiwillig)`,sendFeedback:`Senden`,cancel:`Abbrechen`,thanks:`Danke, das hilft.`,notRated:`Konnte nicht gesendet werden. Versuch es noch einmal.`},ur:{open:`کتاب سے پوچھیں`,title:`کتاب سے پوچھیں`,close:`بند کریں`,newConversation:`نئی گفتگو`,cleared:`نئی گفتگو۔`,conversation:`گفتگو`,welcome:`اس کتاب سے کچھ بھی پوچھیں۔ ہر جملہ جانچا ہوا ہے اور اسی جگہ لے جاتا ہے جہاں وہ لکھا ہے۔`,starters:`پڑھنا شروع کریں`,placeholder:`کتاب سے پوچھیں…`,question:`آپ کا سوال`,send:`پوچھیں`,stop:`روکیں`,counter:`{limit} میں سے {count} حروف`,tooLong:`{over} حروف زیادہ ہیں`,onlyChapter:`صرف ”{chapter}“ میں`,inChapter:`صرف ”{chapter}“ میں تلاش کیا گیا`,you:`آپ نے پوچھا`,answer:`جواب`,queued:`اگلی باری میں`,remove:`ہٹائیں`,searching:`کتاب میں تلاش جاری ہے…`,checking:`ہر جملہ کتاب سے جانچا جا رہا ہے…`,reconnecting:`رابطہ ٹوٹ گیا۔ وہیں سے جاری ہے جہاں رکے تھے…`,stopped:`روک دیا گیا۔ اوپر کا سب کچھ جانچا ہوا ہے۔`,stoppedEarly:`پہلے جملے سے پہلے روک دیا گیا۔`,askAgain:`دوبارہ پوچھیں`,retry:`دوبارہ کوشش کریں`,retryIn:`{wait} بعد دوبارہ کوشش کریں`,offline:`آپ آف لائن ہیں`,offlineDetail:`آپ کے آن لائن ہوتے ہی ہم پوچھیں گے۔`,unreachable:`کتاب تک ابھی رسائی نہیں`,unreachableDetail:`آپ کا سوال محفوظ ہے۔`,rate:`ایک ساتھ بہت زیادہ سوال`,rateDetail:`سروس تھوڑا انتظار کرنے کو کہتی ہے۔ آپ کا سوال محفوظ ہے۔`,busy:`سروس ابھی جواب نہیں دے سکتی`,lost:`رابطہ ختم ہو گیا`,lostDetail:`جواب مکمل نہیں ہے۔ جو نظر آ رہا ہے وہ جانچا ہوا ہے۔`,refused:`یہ سوال بھیجا نہیں جا سکا`,request:`درخواست {id}`,notInBook:`مجھے یہ کتاب میں نہیں ملا۔`,notInChapter:`مجھے یہ اس باب میں نہیں ملا۔`,noDirectAnswer:`مجھے براہِ راست جواب نہیں ملا۔`,closest:`سب سے قریبی حصہ:`,notInSelection:`منتخب متن میں اس کا جواب نہیں ہے۔`,askBook:`پوری کتاب میں تلاش کریں`,fromSelection:`منتخب متن`,askAbout:`اس کے بارے میں پوچھیں`,selected:`آپ کا انتخاب`,removeSelection:`انتخاب ہٹائیں`,sources:`حوالے`,quoteOne:`1 اقتباس`,quoteMany:`{count} اقتباسات`,sectionOne:`1 حصہ`,sectionMany:`{count} حصے`,doubt:`شاید یہ آپ کے سوال کا جواب نہ ہو`,source:`حوالہ {number}: {place}`,supported:`ثابت`,partly:`جزوی طور پر ثابت`,unsupported:`ثابت نہیں`,contradicted:`کتاب کچھ اور کہتی ہے`,ofHeading:`کتاب کی ایک سرخی`,ofSelection:`آپ کے انتخاب سے`,goTo:`کتاب میں دکھائیں`,elsewhere:`نئے ٹیب میں کھلتا ہے`,sameBook:`اسی کتاب میں`,withheldOne:`1 جملہ ہٹایا گیا: کتاب اس کی تائید نہیں کرتی`,withheldMany:`{count} جملے ہٹائے گئے: کتاب ان کی تائید نہیں کرتی`,not_kept:`یہ جواب محفوظ نہیں ہو سکا۔`,embedded_answer:`زبان کا ماڈل دستیاب نہیں؛ اس کی جگہ کتاب کا اقتباس دیا گیا ہے۔`,copy:`نقل کریں`,copyAnswer:`حوالوں کے ساتھ نقل کریں`,copied:`نقل ہو گیا`,notCopied:`نقل نہیں ہو سکا`,code:`کوڈ`,table:`جدول`,formula:`فارمولا`,helpful:`مفید`,notHelpful:`مفید نہیں`,whatWasWrong:`کیا بہتر ہو سکتا ہے؟`,wrong:`غلط`,incomplete:`کچھ کمی ہے`,off_topic:`میں نے یہ نہیں پوچھا تھا`,unclear:`سمجھنا مشکل ہے`,comment:`کچھ اور؟ (اختیاری)`,sendFeedback:`بھیجیں`,cancel:`منسوخ کریں`,thanks:`شکریہ، اس سے مدد ملتی ہے۔`,notRated:`بھیجا نہیں جا سکا۔ دوبارہ کوشش کریں۔`},es:{open:`Preguntar al libro`,title:`Preguntar al libro`,close:`Cerrar`,newConversation:`Nueva conversación`,cleared:`Nueva conversación.`,conversation:`Conversación`,welcome:`Pregunta lo que quieras a este libro. Cada frase está comprobada y enlaza al lugar donde se dice.`,starters:`Empieza a leer`,placeholder:`Pregunta al libro…`,question:`Tu pregunta`,send:`Preguntar`,stop:`Detener`,counter:`{count} de {limit} caracteres`,tooLong:`sobran {over} caracteres`,onlyChapter:`Solo en «{chapter}»`,inChapter:`Se buscó solo en «{chapter}»`,you:`Preguntaste`,answer:`Respuesta`,queued:`Siguiente en la cola`,remove:`Quitar`,searching:`Buscando en el libro…`,checking:`Comprobando cada frase con el libro…`,reconnecting:`Se perdió la conexión. Seguimos donde lo dejamos…`,stopped:`Detenido. Todo lo de arriba está comprobado.`,stoppedEarly:`Detenido antes de la primera frase.`,askAgain:`Preguntar otra vez`,retry:`Reintentar`,retryIn:`Reintentar en {wait}`,offline:`No tienes conexión`,offlineDetail:`Preguntaremos en cuanto vuelvas a tener conexión.`,unreachable:`Ahora no se puede acceder al libro`,unreachableDetail:`Tu pregunta está guardada.`,rate:`Demasiadas preguntas a la vez`,rateDetail:`El servicio pide esperar un poco. Tu pregunta se guarda.`,busy:`El servicio no puede responder ahora`,lost:`Se perdió la conexión`,lostDetail:`La respuesta no está completa. Lo que ves está comprobado.`,refused:`No se pudo enviar esa pregunta`,request:`Solicitud {id}`,notInBook:`No lo encontré en el libro.`,notInChapter:`No lo encontré en este capítulo.`,noDirectAnswer:`No encontré una respuesta directa.`,closest:`La sección más cercana es:`,notInSelection:`El texto seleccionado no responde a eso.`,askBook:`Buscar en todo el libro`,fromSelection:`Texto seleccionado`,askAbout:`Preguntar sobre esto`,selected:`Tu selección`,removeSelection:`Quitar la selección`,sources:`Fuentes`,quoteOne:`1 cita`,quoteMany:`{count} citas`,sectionOne:`1 sección`,sectionMany:`{count} secciones`,doubt:`Quizá no responda a tu pregunta`,source:`Fuente {number}: {place}`,supported:`Probado`,partly:`Probado en parte`,unsupported:`No probado`,contradicted:`El libro dice otra cosa`,ofHeading:`Un título del libro`,ofSelection:`De tu selección`,goTo:`Ver en el libro`,elsewhere:`se abre en otra pestaña`,sameBook:`en este libro`,withheldOne:`1 frase quitada: el libro no la respalda`,withheldMany:`{count} frases quitadas: el libro no las respalda`,not_kept:`No se pudo guardar esta respuesta.`,embedded_answer:`El modelo de lenguaje no está disponible; en su lugar se cita el libro.`,copy:`Copiar`,copyAnswer:`Copiar con fuentes`,copied:`Copiado`,notCopied:`No se pudo copiar`,code:`Código`,table:`Tabla`,formula:`Fórmula`,helpful:`Útil`,notHelpful:`No es útil`,whatWasWrong:`¿Qué se podría mejorar?`,wrong:`Incorrecto`,incomplete:`Falta algo`,off_topic:`No es lo que pregunté`,unclear:`Difícil de entender`,comment:`¿Algo más? (opcional)`,sendFeedback:`Enviar`,cancel:`Cancelar`,thanks:`Gracias, eso ayuda.`,notRated:`No se pudo enviar. Inténtalo de nuevo.`}},gr=[`ur`,`ar`,`fa`,`he`];function _r(e){return hr[br(e)]??mr}function vr(e){return br(e)in hr?e:`en`}function yr(e){return gr.includes(br(e))?`rtl`:`ltr`}function K(e,t){return e.replace(/\{(\w+)\}/g,(e,n)=>String(t[n]??e))}function br(e){return e.toLowerCase().split(`-`)[0]??``}function q({chapter:e,section:t}){return!t||t===e?e:`${e} › ${t}`}function xr({claims:e,sources:t}){let n=new Set(e.flatMap(wr).map(e=>e.chunk_id));return t.filter(e=>n.has(e.chunk_id))}function Sr({claims:e},t){let n=e.flatMap(wr),r=new Set(n.map(({chunk_id:e,quote:t})=>`${e} ${t}`)).size,i=new Set(n.map(q)).size;if(!r)return``;let a=(e,t,n)=>e===1?t:K(n,{count:e});return`${a(r,t.quoteOne,t.quoteMany)} · ${a(i,t.sectionOne,t.sectionMany)}`}function Cr(e,t){let n=e.claims.flatMap(wr).toSorted((e,t)=>e.number-t.number).map(e=>`[${e.number}] ${q(e)}: “${Tr(e.quote)}” ${e.url}`.trim());return n.length?`${e.text}\n\n${t}\n${[...new Set(n)].join(`
`)}\n`:`${e.text}\n`}function wr({verdict:e,citations:t}){return e===`contradicted`?[]:t}function Tr(e){return e.replace(/\s+/g,` `).trim()}function Er(e,t,n){let{words:r}=e,i=e.whereIs(t)===`away`,a=x`${n}<span class="unseen"> (${i?r.elsewhere:r.sameBook})</span>`;return i?x`<a class="away" href=${t} target="_blank" rel="noopener noreferrer nofollow">${a}</a>`:Or(e,{url:t,chunk_id:``},a,`own`)}function Dr(e,t){return t.url?Or(e,t,q(t)):x`<span>${e.words.selected}</span>`}function Or(e,t,n,r=``){let i=e.hrefOf(t.url);if(!i)return x`<span dir="auto">${n}</span>`;let a=e.whereIs(t.url)===`away`;return x`<a dir="auto" class=${r||w} href=${i} target=${a?`_blank`:w}
    rel=${a?`noopener`:w} @click=${n=>e.goTo(n,t)}>${n}</a>`}var J=`#question`;function kr(e,t){let{words:n}=e,r=Ar(t,n),[i]=t.outcome===`no_direct_answer`?t.nearest:[];return x`<div class="refusal" part="refusal" data-outcome=${t.outcome??w}>
    ${r?x`<p><strong>${r}</strong></p>`:x`<p dir="auto">${t.text}</p>`}
    ${i?Mr(e,i):w} ${t.offersBook?jr(e,t):w}
  </div>`}function Ar({outcome:e,chapter:t},n){switch(e){case`not_in_book`:return t?n.notInChapter:n.notInBook;case`no_direct_answer`:return n.noDirectAnswer;case`not_in_selection`:return n.notInSelection;default:return``}}function jr({words:e,chat:t,asked:n,focus:r},i){return x`<button type="button" class="second" @click=${()=>{t.setDesk({selection:null}),n(t.ask(i.question,null)),r(J)}}>${e.askBook}</button>`}function Mr(e,t){return x`<p>${e.words.closest}</p>
    <div class="closest" dir="auto">
      ${Dr(e,t)}
      <p dir="auto">${ur(t.chunk_text)}</p>
    </div>`}function Nr({words:e,chat:t,focus:n},r){return x`<div class="notice" part="notice">
    <p>${r.text?e.stopped:e.stoppedEarly}</p>
    <button type="button" class="second" @click=${()=>{t.retry(r.id),n(J)}}>${e.askAgain}</button>
  </div>`}function Pr({words:e,chat:t,language:n,focus:r},i){let{trouble:a}=i;if(!a)return w;let o=Fr(a),s=o>0?K(e.retryIn,{wait:Lr(o,n)}):e.retry;return x`<div class="notice problem" part="notice" data-kind=${a.kind}>
    <p><strong>${e[a.kind]}</strong></p>
    ${Ir(a,e).map(e=>x`<p>${e}</p>`)}
    <button type="button" class="second" aria-disabled=${o>0} @click=${()=>{o>0||(t.retry(i.id),r(J))}}>
      ${s}
    </button>
    ${a.requestId&&a.kind!==`rate`?x`<p class="faint">${K(e.request,{id:a.requestId})}</p>`:w}
  </div>`}function Fr(e,t=0){return e?.retryAt?Math.max(0,Math.ceil((e.retryAt+t-Date.now())/1e3)):0}function Ir(e,t){return[{offline:t.offlineDetail,unreachable:t.unreachableDetail,rate:t.rateDetail,lost:t.lostDetail}[e.kind]??e.detail].filter(Boolean)}function Lr(e,t){let n=e>=120,r=n?`minute`:`second`,i=n?Math.ceil(e/60):e;return new Intl.NumberFormat(t,{style:`unit`,unit:r,unitDisplay:`long`}).format(i)}function Rr(e,t){if(e.trouble)return[t[e.trouble.kind],...Ir(e.trouble,t)].join(`. `);if(e.status===`stopped`)return e.text?t.stopped:t.stoppedEarly;if(e.refused)return Ar(e,t)||e.text;let n=dr(it(e.text,e.claims));return[`${t.answer}: ${n}`,e.doubtful?t.doubt:Sr(e,t)].join(` `).trim()}async function*zr(e){let t=e.getReader(),n=new TextDecoder,r=Br();try{for(;;){let{done:e,value:i}=await t.read();if(e)return;yield*r(n.decode(i,{stream:!0}))}}finally{t.cancel().catch(()=>{})}}function Br(){let e=``,t=[],n=``;return r=>{let i=[],a=(e+r).split(/\r\n|\n|\r(?!$)/);e=a.pop()??``;for(let e of a){if(e){t.push(Vr(e));continue}let r=t.filter(([e])=>e===`data`).map(([,e])=>e);n=t.findLast(([e])=>e===`id`)?.[1]??n;let a=t.findLast(([e])=>e===`event`)?.[1]||`message`;t=[],r.length&&i.push({event:a,data:r.join(`
`),id:n})}return i}}function Vr(e){let t=e.indexOf(`:`);return t<0?[e,``]:[e.slice(0,t),e.slice(t+1).replace(/^ /,``)]}var Y=class extends Error{constructor(e,t=``){super(e.detail),this.trouble=e,this.code=t}},Hr=class{constructor(e){this.line=e}async*ask(e,t){yield*Ur(await this.fetch(`widget/stream`,{method:`POST`,headers:{"Content-Type":`application/json`,Accept:`text/event-stream`},body:JSON.stringify(e),signal:t}))}async*resume(e,t,n){yield*Ur(await this.fetch(`streams/${e}`,{headers:{Accept:`text/event-stream`,"Last-Event-ID":t},signal:n}))}async firstBook(){return(await(await this.fetch(`books`)).json())[0]?.book??null}async contents(e){return await(await this.fetch(`books/${encodeURIComponent(e)}/toc?depth=2`)).json()}async rate(e){await this.fetch(`feedback`,{method:`POST`,headers:{"Content-Type":`application/json`},body:JSON.stringify(e)})}async fetch(e,t={}){let n=new Headers(t.headers);n.set(`X-Citewell-Reader`,this.line.reader),this.line.key&&n.set(`Authorization`,`Bearer ${this.line.key}`);let r;try{r=await fetch(new URL(e,this.line.server),{...t,headers:n})}catch(e){throw t.signal?.aborted?e:new Y(Wr())}if(!r.ok)throw await Gr(r);return r}};async function*Ur(e){if(e.body)for await(let{event:t,data:n,id:r}of zr(e.body)){let e={event:t,data:JSON.parse(n)};if(e.event===`error`)throw Kr(e.data,null);yield{said:e,id:r}}}function Wr(){return{kind:navigator.onLine?`unreachable`:`offline`,detail:``,requestId:``,retryAt:null}}async function Gr(e){let t=await e.json().catch(()=>({})),n=Number(e.headers.get(`Retry-After`)),r=n>0?Date.now()+n*1e3:null;return Kr({...t,status:e.status},r)}function Kr(e,t){let{detail:n=``,request_id:r=``,code:i=``}=e;return new Y({kind:qr(e),detail:n,requestId:r,retryAt:t},i)}function qr({status:e=0,code:t=``}){return e===429?`rate`:t===`UnknownStream`||t===`AnswerInterrupted`?`lost`:e>=500?`busy`:`refused`}var Jr={sessionId:null,turns:[]},Yr={reconnecting:!1,answerId:null,lastEventId:null,text:``,claims:[],withheld:[],sources:[],nearest:[],doubtful:!1,outcome:null,refused:!1,offersBook:!1,missing:[],notices:[],answeredAt:null,trouble:null,rating:null};function Xr(e,t,n){return{...Yr,...e,id:t,askedAt:n.toISOString(),status:`queued`}}function Zr(e){return{...e,...Yr,status:`queued`}}function X({status:e}){return e===`searching`||e===`checking`}function Qr(e,t,n){let r={...e,lastEventId:n||e.lastEventId,reconnecting:!1};switch(t.event){case`start`:return{...r,answerId:t.data.answer_id};case`retrieved`:return{...r,status:`checking`};case`sentence`:return{...r,text:e.text+t.data.text,claims:[...e.claims,t.data.claim]};case`withheld`:return{...r,withheld:[...e.withheld,t.data.claim.text]};case`done`:{let{data:e}=t,n=ei.includes(e.status);return{...r,status:`done`,book:e.book,answerId:e.answer_id,text:e.response,claims:e.claims,withheld:e.unsupported_claims.filter(t=>!e.claims.some(e=>e.text===t)),sources:e.sources,nearest:n?e.retrieved:[],doubtful:e.metrics.correctness!==null&&e.metrics.answerability<$r,outcome:e.status,refused:n,offersBook:e.offer===`whole_book`,missing:e.missing_terms,notices:e.notices.map(({code:e})=>e),answeredAt:e.timestamp}}case`error`:return r}}var $r=.8,ei=[`not_in_book`,`no_direct_answer`,`not_in_selection`,`unsupported_request`];function ti(e,t){return{...e,turns:e.turns.map(e=>e.id===t.id?t:e)}}function ni(e){return{...e,turns:e.turns.map(e=>X(e)&&!e.lastEventId?{...e,status:`queued`}:e)}}function ri(){if(`randomUUID`in crypto)return crypto.randomUUID();let e=new Uint8Array(16);return crypto.getRandomValues(e),Array.from(e,e=>e.toString(16).padStart(2,`0`)).join(``)}var ii=[300,1e3,2e3,4e3],ai=[`offline`,`unreachable`,`rate`,`busy`],oi=class{constructor(e){this.by=e,this.running=null,this.held=!1}ask(e){let t=Xr(e,ri(),new Date),n=this.by.read();return this.by.write({...n,turns:[...n.turns,t]}),this.goOn(),t}retry(e){let t=this.find(e);t&&!X(t)&&(this.put(Zr(t)),this.goOn())}withdraw(e){let t=this.by.read(),n=t.turns.filter(t=>t.id!==e||t.status!==`queued`);this.by.write({...t,turns:n})}stop(){this.running?.abort()}leave(){let{running:e}=this;this.running=null,e?.abort()}goOn(){this.held=!1,this.pump()}pump(){if(this.running||this.held)return;let{turns:e}=this.by.read(),t=e.find(X)??e.find(({status:e})=>e===`queued`);t&&this.run(t)}async run(e){let t=this.running=new AbortController,n=e.status===`queued`;n&&this.put({...e,status:`searching`});try{await this.follow(e.id,n,t.signal)}catch(n){if(this.running!==t)return;this.fail(e.id,n,t.signal.aborted)}if(this.running!==t)return;this.running=null;let r=this.find(e.id);r&&r.status!==`queued`&&this.by.ended(r),this.pump()}async follow(e,t,n){let r=0;for(let i=t;;i=!1){let t=this.find(e)?.lastEventId;try{await this.readAll(e,this.open(e,i,n))}catch(t){if(n.aborted||!si(t)||!this.find(e)?.lastEventId)throw t}n.throwIfAborted();let a=this.find(e);if(!a||!X(a))return;r=a.lastEventId===t?r+1:1;let o=ii[r-1];if(!a.lastEventId||o===void 0)throw new Y({...Wr(),kind:`lost`});this.put({...a,reconnecting:!0}),await(navigator.onLine?li(o,n):ci(n))}}open(e,t,n){let r=this.find(e);return t||!r?.answerId||!r.lastEventId?this.by.client.ask(this.request(e),n):this.by.client.resume(r.answerId,r.lastEventId,n)}async readAll(e,t){for await(let{said:n,id:r}of t){let t=this.find(e);if(!t)return;let i=ti(this.by.read(),Qr(t,n,r)),a=n.event===`start`||n.event===`done`;this.by.write(a?{...i,sessionId:n.data.session_id}:i)}}fail(e,t,n){let r=this.find(e);if(!r)return;let i={...r,reconnecting:!1};if(n){this.put({...i,status:`stopped`});return}let a=t instanceof Y?t.trouble:{...Wr(),kind:`lost`};t instanceof Y&&t.code===`UnknownThread`&&this.by.read().sessionId?this.by.write(ti({...this.by.read(),sessionId:null},Zr(r))):(this.held=ai.includes(a.kind),this.put({...i,status:`failed`,trouble:a}))}request(e){let{sessionId:t}=this.by.read(),n=this.find(e);return{message:n?.question??``,session_id:t,book:n?.book??null,filters:n?.chapter?{chapter:n.chapter}:null,context_mode:n?.selection?`user_provided`:`retrieval_pipeline`,user_context:n?.selection??this.by.hint()}}find(e){return this.by.read().turns.find(t=>t.id===e)}put(e){this.by.write(ti(this.by.read(),e))}};function si(e){return!(e instanceof Y)||e.trouble.kind===`offline`||e.trouble.kind===`unreachable`}function ci(e){return new Promise((t,n)=>{addEventListener(`online`,()=>t(),{once:!0,signal:e}),e.addEventListener(`abort`,()=>n(e.reason),{once:!0})})}function li(e,t){return new Promise((n,r)=>{let i=setTimeout(n,e);t.addEventListener(`abort`,()=>{clearTimeout(i),r(t.reason)},{once:!0})})}var ui=1,di={conversation:Jr,desk:{open:!1,draft:``,selection:null}},fi=class{constructor(e,t){this.storage=t,this.name=`citewell.${ui}.${e}`}load(){try{let e=JSON.parse(this.storage?.getItem(this.name)??``);return{desk:{...di.desk,...e.desk},conversation:ni(e.conversation)}}catch{return di}}save({conversation:e,desk:t}){let{turns:n}=e;for(let r=0;r<=n.length;r+=1)try{let i={desk:t,conversation:{...e,turns:n.slice(r)}};this.storage?.setItem(this.name,JSON.stringify(i));return}catch{}}note(e,t){try{this.storage?.setItem(`${this.name}.${e}`,JSON.stringify(t))}catch{}}noted(e){try{return JSON.parse(this.storage?.getItem(`${this.name}.${e}`)??`null`)}catch{return null}}readerId(){let e=`${this.name}.reader`;try{let t=this.storage?.getItem(e);if(t)return t;let n=ri();return this.storage?.setItem(e,n),n}catch{return this.fallback??=ri()}}};function pi(){try{return window.sessionStorage}catch{return null}}function mi({book:e,title:t,entries:n}){let r=({kind:e,title:t,url:n,children:i})=>({kind:e,title:t,url:n,children:i.map(r)});return{book:e,title:t,entries:n.map(r)}}function hi({entries:e},t){let n=vi(e).find(({url:e})=>Z(e)===Z(t));return n?{chapter:n.title}:null}function gi({entries:e},t,n){let r=vi(e),i=r.findIndex(({url:e})=>Z(e)===Z(t)),a=r.filter((e,t)=>t!==i),o=a.some(({kind:e})=>e===`chapter`)?a.filter(({kind:e})=>e===`chapter`):a,s=o.filter(e=>r.indexOf(e)>i);return(s.length?s:o).slice(0,n)}function _i(e,t){let[n,r]=[new URL(e,location.href),new URL(t,location.href)];return n.origin===r.origin&&Z(n.href)===Z(r.href)}function vi(e){return e.flatMap(e=>e.kind===`part`?vi(e.children):[e])}function Z(e){let{pathname:t}=new URL(e,location.href);return t.replace(/\/(index\.html?)?$/,``).replace(/\.html?$/,``)||`/`}var yi=2e3,bi=`contents`,xi=`going`,Si=class{constructor(e,t,n){this.settings=e,this.changed=t,this.ended=n,this.contents=null,this.onlyChapter=!1,this.page=null,this.quote=null,this.rating=null,this.lookedUp=!1,this.memory=new fi(`${e.server} ${e.book??``}`,pi()),{conversation:this.conversation,desk:this.desk}=this.memory.load();let{server:r,key:i}=e;this.client=new Hr({server:r,key:i,reader:this.memory.readerId()}),this.asking=new oi({client:this.client,read:()=>this.conversation,write:e=>this.set({conversation:e}),hint:()=>this.hint(),ended:e=>{this.save(),this.ended(e)}})}get words(){return this.settings.words}get running(){return this.conversation.turns.find(X)}get place(){return this.contents&&hi(this.contents,this.page??location.href)}ask(e,t=this.desk.selection){let n=e.trim();if(!n||wi(n)>2e3)return null;let r=this.onlyChapter&&!t?this.place?.chapter??null:null,i=this.asking.ask({question:n,selection:t,chapter:r,book:this.settings.book});return this.save(),i}retry(e){this.asking.retry(e)}withdraw(e){this.asking.withdraw(e),this.save()}stop(){this.asking.stop()}goOn(){let e=this.conversation.turns.at(-1);e?.trouble?.kind===`offline`?this.asking.retry(e.id):this.asking.goOn()}clear(){this.asking.leave(),this.set({conversation:Jr,quote:null,rating:null,desk:{...this.desk,selection:null}}),this.save()}leave(){this.asking.leave(),this.save()}goTo(e){this.memory.note(xi,e)}cameTo(){let e=this.memory.noted(xi);return e&&this.memory.note(xi,null),e}setDesk(e){this.set({desk:{...this.desk,...e}})}toggleQuote(e){this.set({quote:Ci(this.quote,e)?null:e})}set(e){Object.assign(this,e),this.changed()}save(){this.memory.save(this)}async lookUpContents(){if(!this.lookedUp){this.lookedUp=!0;try{let e=this.memory.noted(bi)??await this.fetchContents();this.memory.note(bi,e),this.set({contents:e})}catch{this.lookedUp=!1}}}async fetchContents(){let e=this.settings.book??await this.client.firstBook();return e?mi(await this.client.contents(e)):null}async rate(e,t,n=``,r=``){if(!e.answerId)return!1;let i={answer_id:e.answerId,verdict:t};n&&(i.reason=n),r.trim()&&(i.comment=r.trim());let a=await this.client.rate(i).then(()=>!0,()=>!1);return this.set({conversation:ti(this.conversation,{...e,rating:{verdict:t,reason:n,sent:a}}),rating:null}),this.save(),a}hint(){let e={page:this.page??location.origin+location.pathname,title:document.title.slice(0,200)};return this.place?{...e,chapter:this.place.chapter}:e}};function Ci(e,t){return e?.turn===t.turn&&e.claim===t.claim&&e.number===t.number}function wi(e){return Array.from(e).length}async function Ti(e){try{return await navigator.clipboard.writeText(e),!0}catch{return Ei(e)}}function Ei(e){let t=t=>{t.preventDefault(),t.clipboardData?.setData(`text/plain`,e)};document.addEventListener(`copy`,t,{once:!0,capture:!0});let n=document.execCommand(`copy`);return document.removeEventListener(`copy`,t,{capture:!0}),n}function Di(e){let t=/:~:(?:.*&)?text=([^&]*)/.exec(e)?.[1];if(!t)return null;let n=t.split(`,`),r=n[0]?.endsWith(`-`)?n.shift()?.slice(0,-1)??``:``,i=n.at(-1)?.startsWith(`-`)?n.pop()?.slice(1)??``:``,[a=``,o=``]=n;return a?{prefix:Oi(r),start:Oi(a),end:Oi(o),suffix:Oi(i)}:null}function Oi(e){try{return Ni(decodeURIComponent(e)).replace(/\s+/g,` `).trim()}catch{return``}}function ki(e,{prefix:t,start:n,end:r,suffix:i}){for(let a=e.indexOf(n);a>=0;a=e.indexOf(n,a+1)){let o=a+n.length;if(Ai(e,a,o)&&e.slice(0,a).trimEnd().endsWith(t)){if(r)for(let t=e.indexOf(r,o);t>=0;t=e.indexOf(r,t+1)){let n=t+r.length;if(Ai(e,t,n)&&e.slice(n).trimStart().startsWith(i))return[a,n]}else if(e.slice(o).trimStart().startsWith(i))return[a,o]}}return null}function Ai(e,t,n){let r=/[\p{L}\p{N}]/u,i=t=>r.test(e[t-1]??``)&&r.test(e[t]??``);return!i(t)&&!i(n)}function ji(e,t){let n=document.createTreeWalker(e,NodeFilter.SHOW_ELEMENT|NodeFilter.SHOW_TEXT,e=>e instanceof Element&&e.matches(t)?NodeFilter.FILTER_REJECT:NodeFilter.FILTER_ACCEPT),r=[],i=[],a=!0;for(;n.nextNode();){let e=n.currentNode;if(!(e instanceof Text)){if(a||!Mi(e))continue;a=!0,r.push(` `),i.push(i.at(-1)??{node:document.createTextNode(``),offset:0});continue}let{data:t}=e;for(let n=0;n<t.length;n+=1)for(let o of Ni(t[n]??``)){let t=/\s/.test(o);t&&a||(a=t,r.push(t?` `:o),i.push({node:e,offset:n}))}}return{text:r.join(``),at:i}}function Mi(e){return!/^(A|ABBR|B|BDI|BR|CITE|CODE|DEL|EM|I|IMG|KBD|MARK|Q|S|SMALL|SPAN|STRONG|SUB|SUP|TIME|U|VAR|WBR)$/.test(e.tagName)}function Ni(e){return/^[\x20-\x7e]*$/.test(e)?e.toLowerCase():e.normalize(`NFKD`).replace(/[\p{M}\u200B\u00AD]/gu,``).replace(/[\u2018\u2019\u201A\u201B]/g,`'`).replace(/[\u201C-\u201F\u00AB\u00BB]/g,`"`).toLowerCase()}var Pi=`citewell-cited`,Fi=`script, style, noscript, template, nav, citewell-chat, .katex-mathml`;function Ii(e){let t=Di(e),n=t&&(Li(`main, [role=main], article`,t)??Li(`body`,t)),r=Hi(e);n&&zi(n);let i=n?Ui(n.startContainer):r;if(!i)return null;for(let e=i.closest(`details`);e;e=e.parentElement?.closest(`details`)??null)e.open=!0;return Ri(i,n),Wi(i,n!==null),n??i}function Li(e,t){let n=document.querySelector(e);if(!n)return null;let{text:r,at:i}=ji(n,Fi),a=ki(r,t),[o,s]=a?[i[a[0]],i[a[1]-1]]:[];if(!o||!s)return null;let c=document.createRange();return c.setStart(o.node,o.offset),c.setEnd(s.node,s.offset+1),c}function Ri(e,t){let n=e.style.scrollMarginTop;if(t){let n=t.getBoundingClientRect().top-e.getBoundingClientRect().top;e.style.scrollMarginTop=`${innerHeight/3-n}px`}e.scrollIntoView({block:`start`,behavior:`instant`}),e.style.scrollMarginTop=n}function zi(e){if(`highlights`in CSS)Vi(),CSS.highlights.set(Pi,new Highlight(e));else{let t=getSelection();t?.removeAllRanges(),t?.addRange(e)}}var Bi=!1;function Vi(){if(Bi)return;Bi=!0;let e=new CSSStyleSheet,t=`{ background-color: #ffe066; color: #1c1e21; }`;e.replaceSync(`::highlight(${Pi}) ${t} ::target-text ${t}`),document.adoptedStyleSheets.push(e)}function Hi(e){let t=decodeURIComponent(new URL(e,location.href).hash.slice(1).split(`:~:`)[0]??``);return t?document.getElementById(t):document.querySelector(`h1`)}function Ui(e){return(e instanceof Element?e:e.parentElement)?.closest(`p, li, td, th, dt, dd, pre, blockquote, figcaption, h1, h2, h3, h4, h5, h6, summary, div`)??null}function Wi(e,t){if(e.hasAttribute(`tabindex`))return;let n=e.style.outline;e.tabIndex=-1,t&&(e.style.outline=`none`),e.addEventListener(`blur`,()=>{e.removeAttribute(`tabindex`),e.style.outline=n},{once:!0}),e.focus({preventScroll:!0})}var Gi=import.meta.url;function Q(e){return x`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${e}</svg>`}var Ki=Q(S`<path d="M12 6.5C10 5 7 4.5 3.5 4.5v13c3.5 0 6.5.5 8.5 2 2-1.5 5-2 8.5-2v-13C17 4.5 14 5 12 6.5zm0 0v13"/>`),qi=Q(S`<path d="M6 6l12 12M18 6L6 18"/>`),Ji=Q(S`<path d="M11 5H6a2 2 0 0 0-2 2v11a2 2 0 0 0 2 2h11a2 2 0 0 0 2-2v-5M9.5 14.5l1-3.5L18 3.5l2.5 2.5-7.5 7.5z"/>`),Yi=Q(S`<path d="M12 19V5M6 11l6-6 6 6"/>`),Xi=Q(S`<rect x="7" y="7" width="10" height="10" rx="1.5" fill="currentColor"/>`),Zi=Q(S`<rect x="9" y="9" width="11" height="11" rx="2"/><path d="M5 15V6a2 2 0 0 1 2-2h9"/>`),Qi=Q(S`<path d="M7 11v9H4v-9zM7 11l4-7c1.7 0 2.5 1.2 2.2 2.8L12.6 10H18a2 2 0 0 1 2 2.3l-1 6A2 2 0 0 1 17 20H7"/>`),$i=Q(S`<path d="M7 13V4H4v9zM7 13l4 7c1.7 0 2.5-1.2 2.2-2.8L12.6 14H18a2 2 0 0 0 2-2.3l-1-6A2 2 0 0 0 17 4H7"/>`),ea=Q(S`<path d="M5 17c3-1 4-3 4-6V7H4v5h3M15 17c3-1 4-3 4-6V7h-5v5h3"/>`),ta=Q(S`<path d="M5 12.5l4.5 4.5L19 7.5"/>`),na=Q(S`<path d="M4 14c2.5-5 5.5-5 8-2s5.5 3 8-2"/>`),ra=Q(S`<path d="M12 5v9M12 18.5v.5"/>`),ia=Q(S`<path d="M5 12h14M13 6l6 6-6 6"/>`),aa=`data-low`,oa=[`click`,`keyup`],sa=.2;function ca(e,t,n){if(!t||!la(t.getBoundingClientRect(),n.getBoundingClientRect()))return;e.toggleAttribute(aa,!0),scrollBy({top:n.getBoundingClientRect().top-innerHeight*sa,behavior:`instant`});let r=performance.now(),i=({timeStamp:n})=>{if(!(n<r)){e.removeAttribute(aa);for(let e of oa)t.removeEventListener(e,i)}};for(let e of oa)t.addEventListener(e,i)}function la(e,t){return e.left<t.right&&t.left<e.right&&e.top<t.bottom&&t.top<e.bottom}var ua=20;function da(e,t){pa(e,t,e=>e)}function fa(e,t){pa(e,t,(e,t)=>e<0?e:Math.min(e,Math.max(0,t)))}function pa(e,t,n){let r=e?.querySelector(t);if(!e||!r)return;let[i,a]=[e.getBoundingClientRect(),r.getBoundingClientRect()];e.scrollTop+=n(a.top-i.top-ua,a.bottom-i.bottom+ua)}var ma=250,ha=8,ga=56,_a=class{constructor(e,t){this.owner=e,this.tell=t,this.timer=0,this.settle=()=>{clearTimeout(this.timer),this.timer=window.setTimeout(this.look,ma)},this.look=()=>this.tell(this.now())}start(){document.addEventListener(`selectionchange`,this.settle),addEventListener(`scroll`,this.look,{passive:!0}),addEventListener(`resize`,this.look,{passive:!0})}stop(){document.removeEventListener(`selectionchange`,this.settle),removeEventListener(`scroll`,this.look),removeEventListener(`resize`,this.look),clearTimeout(this.timer)}now(){let e=getSelection();if(!e?.rangeCount||e.isCollapsed)return null;let t=e.getRangeAt(0),n=va(e.toString());if(n.length<10||n.length>16e3||this.isOwn(t))return null;let r=ya(t);return r?{text:n,...ba(r)}:null}isOwn({commonAncestorContainer:e}){let t=e instanceof Element?e:e.parentElement;return this.owner.contains(e)||!!t?.closest(`[contenteditable=true], input, textarea`)}};function va(e){return e.replace(/[\u200B\u00AD]/g,``).replace(/[^\S\n]+/g,` `).replace(/ ?\n ?/g,`
`).replace(/\n{3,}/g,`

`).trim()}function ya(e){return[...e.getClientRects()].findLast(({width:e,height:t})=>e>0&&t>0)??null}function ba(e){let t=e.bottom+ha;return{x:e.right,y:t+ga>innerHeight?Math.max(e.top-ga+ha,ha):t}}var xa=[`http:`,`https:`],Sa=[...xa,`mailto:`];function Ca(e){return/^https?:\/\//i.test(e)&&Ta(e,xa)?new URL(e).href:null}function wa(e){return e&&Ta(e,Sa)?e:null}function Ta(e,t){if(!URL.canParse(e,document.baseURI))return!1;let n=new URL(e,document.baseURI);return t.includes(n.protocol)&&!n.username&&!n.password}function Ea(e){let t=Da(e);return!t||!URL.canParse(t)||new URL(t).origin!==location.origin?`away`:_i(t,location.href)?`here`:`site`}function Da(e){let t=Oa();return wa(t&&e.startsWith(`${t}/`)?location.origin+e.slice(t.length):e)}function Oa(){let e=document.querySelector(`link[rel="canonical"]`)?.href;if(!e||!URL.canParse(e))return null;let{origin:t,pathname:n}=new URL(e);return _i(location.origin+n,location.href)?t:null}var ka=o`
  /* So that the newest question can be scrolled to the top, with its answer below. */
  .turn:last-child:not([data-status="queued"]) {
    min-block-size: 100%;
  }
  .turn + .turn {
    margin-block-start: 2rem;
  }
  .asked {
    inline-size: fit-content;
    max-inline-size: 88%;
    margin-inline-start: auto;
    padding: 0.55rem 0.95rem;
    border-radius: 1.1rem 1.1rem 0.3rem;
    background: var(--tint);
    overflow-wrap: anywhere;
  }
  .asked [dir]:not(.clip) {
    display: block;
    white-space: pre-line;
  }
  .asked:dir(rtl) {
    border-radius: 1.1rem 1.1rem 1.1rem 0.3rem;
  }
  .scope {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.2rem 0.5rem;
    margin-block-start: 0.3rem;
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .scope .badge {
    background: var(--surface);
  }
  .scope .clip {
    flex: 1 1 8rem;
  }
  .answer {
    margin-block-start: 1rem;
    overflow-wrap: break-word;
    unicode-bidi: isolate;
  }
  .answer > * + *,
  .quote > * + *,
  blockquote > * + *,
  .answer li > * + *,
  .quote li > * + * {
    margin-block-start: 0.75rem;
  }
  .answer .rest {
    margin-block-start: 0.6rem;
  }
  .answer .unread {
    white-space: pre-wrap;
    content-visibility: auto;
    contain-intrinsic-size: auto 60rem;
  }
  .heading {
    line-height: 1.35;
  }
  .answer ul,
  .answer ol,
  .quote ul,
  .quote ol {
    padding-inline-start: 1.4rem;
  }
  li + li {
    margin-block-start: 0.3rem;
  }
  hr {
    border: 0;
    border-block-start: 1px solid var(--line);
  }
  code {
    padding: 0.1em 0.3em;
    border-radius: 5px;
    background: var(--wash);
    font: 0.875em/1.5 var(--mono);
    overflow-wrap: anywhere;
  }
  .code {
    position: relative;
    border: 1px solid var(--line);
    border-radius: 10px;
    background: var(--wash);
  }
  .code pre {
    padding: 0.75rem 0.9rem;
    white-space: pre;
  }
  .code pre code {
    padding: 0;
    background: none;
    overflow-wrap: normal;
  }
  .code .copy {
    position: absolute;
    inset-block-start: 0.3rem;
    inset-inline-end: 0.3rem;
    min-block-size: 1.75rem;
    padding-inline: 0.6rem;
    background: var(--surface);
    font-size: 0.75rem;
    font-weight: 500;
  }
  .copy {
    position: relative;
  }
  .copy[data-said]::after {
    content: attr(data-said);
    position: absolute;
    inset-block-end: calc(100% + 0.3rem);
    inset-inline-end: 0;
    padding: 0.2rem 0.6rem;
    border-radius: 8px;
    background: var(--ink);
    color: var(--surface);
    font-size: 0.75rem;
    white-space: nowrap;
  }
  .scroll {
    overflow-x: auto;
    scrollbar-width: thin;
  }
  table {
    min-inline-size: 100%;
    border-collapse: collapse;
    font-size: 0.875rem;
    line-height: 1.45;
  }
  th,
  td {
    padding: 0.4rem 0.7rem;
    border-block-end: 1px solid var(--line);
    text-align: start;
    vertical-align: top;
  }
  th {
    font-weight: 600;
    white-space: nowrap;
  }
  [data-align="right"] {
    text-align: end;
  }
  [data-align="center"] {
    text-align: center;
  }
  .math {
    unicode-bidi: isolate;
  }
  /* Chromium knows no \`columnalign\`, by which TeX's aligned equations are set. */
  .math mtable[columnalign^="right left"] mtd:nth-child(odd) {
    text-align: right;
  }
  .math mtable[columnalign^="right left"] mtd:nth-child(even) {
    text-align: left;
  }
  .math.display {
    display: block;
    overflow-x: auto;
    padding-block: 0.25rem;
  }

  /* Browsers leave out what MathML Core leaves out: how the columns of a table are aligned. */
  mtable[columnalign^="right"] > mtr > mtd {
    padding-inline: 0;
    text-align: right;
  }
  mtable[columnalign^="left"] > mtr > mtd,
  mtable[columnalign^="right left"] > mtr > mtd:nth-child(even) {
    text-align: left;
  }

  .bound {
    white-space: nowrap;
  }
  .mark {
    display: inline-block;
    min-inline-size: 1.5em;
    margin-inline: 0.2em 0.1em;
    padding: 0 0.35em;
    border: 1px solid transparent;
    border-radius: 999px;
    background: var(--tint);
    font-size: 0.75em;
    font-weight: 600;
    line-height: 1.65;
    font-variant-numeric: tabular-nums;
    color: var(--accent);
    vertical-align: 0.12em;
    position: relative;
  }
  .mark::after {
    content: "";
    position: absolute;
    inset: 50% auto auto 50%;
    inline-size: 24px;
    block-size: 24px;
    transform: translate(-50%, -50%);
  }
  .mark:hover,
  .mark[aria-expanded="true"] {
    background: var(--accent);
    color: var(--on-accent);
  }
  .mark[data-verdict="partly"]:not(:hover, [aria-expanded="true"]) {
    border: 1px dashed currentColor;
  }
  .mark[data-verdict="unsupported"],
  .mark[data-verdict="contradicted"] {
    border: 1px solid currentColor;
    background: none;
    color: var(--bad);
  }
  .quote {
    padding-block: 0.6rem 0.75rem;
    padding-inline: 1rem 0.6rem;
    border: 1px solid var(--line);
    border-inline-start: 3px solid var(--accent);
    border-radius: 4px 10px 10px 4px;
    background: var(--wash);
    font-size: 0.875rem;
  }
  .quote[data-verdict="partly"] {
    border-inline-start-color: var(--warn);
  }
  .quote[data-verdict="unsupported"],
  .quote[data-verdict="contradicted"] {
    border-inline-start-color: var(--bad);
  }
  .quote:dir(rtl) {
    border-radius: 10px 4px 4px 10px;
  }
  .verdict {
    display: flex;
    align-items: center;
    gap: 0.35rem;
    font-size: 0.8125rem;
    font-weight: 600;
    color: var(--good);
  }
  .verdict .plain {
    margin-inline-start: auto;
  }
  .verdict .icon {
    inline-size: 1rem;
    block-size: 1rem;
    stroke-width: 2.25;
  }
  .verdict[data-verdict="partly"] {
    color: var(--warn);
  }
  .verdict[data-verdict="unsupported"],
  .verdict[data-verdict="contradicted"] {
    color: var(--bad);
  }
  .quote > .verdict + * {
    margin-block-start: 0.2rem;
  }
  .quote blockquote {
    padding-inline-end: 0.4rem;
  }
  .where {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    justify-content: space-between;
    gap: 0.15rem 1rem;
    padding-inline-end: 0.4rem;
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .go {
    display: inline-flex;
    align-items: center;
    gap: 0.25rem;
    min-block-size: 1.5rem;
    font-weight: 600;
  }
  .go .icon {
    inline-size: 0.9rem;
    block-size: 0.9rem;
  }
  .go .icon:dir(rtl) {
    transform: scaleX(-1);
  }
  .own::after,
  .away::after {
    content: "¶" / "";
    margin-inline-start: 0.15em;
    font-size: 0.8em;
  }
  .away::after {
    content: "↗" / "";
  }
`,Aa=[o`
  :host {
    all: initial;
    --surface: var(--citewell-surface, var(--ifm-background-surface-color, #ffffff));
    --ink: var(--citewell-ink, var(--ifm-font-color-base, #1c1e21));
    --wanted: var(--citewell-accent, var(--ifm-color-primary, #2b5fc7));
    --accent: var(--citewell-accent-shown, var(--wanted));
    --on-accent: var(--citewell-on-accent-shown, #ffffff);
    --soft: color-mix(in srgb, var(--ink) 72%, var(--surface));
    --line: color-mix(in srgb, var(--ink) 14%, var(--surface));
    --edge: color-mix(in srgb, var(--ink) 52%, var(--surface));
    --wash: color-mix(in srgb, var(--ink) 5%, var(--surface));
    --tint: color-mix(in srgb, var(--accent) 10%, var(--surface));
    --warn: #9a5b00;
    --bad: #b3261e;
    --good: #1a7f4b;
    --shade: 0 1px 2px rgb(0 0 0 / 8%), 0 8px 28px rgb(0 0 0 / 16%);
    --round: var(--citewell-radius, 16px);
    --font: var(--citewell-font, var(--ifm-font-family-base, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif));
    --mono: var(--citewell-font-mono, var(--ifm-font-family-monospace, ui-monospace, SFMono-Regular, Menlo, Consolas, monospace));
    color-scheme: light;
  }
  :host([data-scheme="dark"]) {
    --surface: var(--citewell-surface, var(--ifm-background-surface-color, #1f2125));
    --ink: var(--citewell-ink, var(--ifm-font-color-base, #e6e8eb));
    --wanted: var(--citewell-accent, var(--ifm-color-primary, #8fb4ff));
    --warn: #f0b95c;
    --bad: #ff9c94;
    --good: #6fd49b;
    --shade: 0 1px 2px rgb(0 0 0 / 40%), 0 8px 28px rgb(0 0 0 / 56%);
    color-scheme: dark;
  }
  :host([hidden]) {
    display: none;
  }

  /* Styles of the site for every element, as \`* { letter-spacing: … }\`, reach the host and are inherited. */
  .root {
    all: initial;
    display: block;
    color-scheme: inherit;
    font: 400 0.9375rem/1.6 var(--font);
    color: var(--ink);
    text-align: start;
  }
  *,
  *::before {
    box-sizing: border-box;
  }
  p,
  h2,
  ul,
  ol,
  blockquote,
  fieldset,
  pre {
    margin: 0;
    padding: 0;
    border: 0;
  }
  [hidden] {
    display: none !important;
  }
  button,
  textarea,
  input {
    font: inherit;
    color: inherit;
  }
  button {
    cursor: pointer;
  }
  button[aria-disabled="true"] {
    cursor: not-allowed;
    opacity: 0.55;
  }
  a {
    color: var(--accent);
    text-decoration: underline;
    text-decoration-thickness: 1px;
    text-underline-offset: 0.18em;
  }
  a:hover {
    text-decoration-thickness: 2px;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  .icon {
    inline-size: 1.25rem;
    block-size: 1.25rem;
    flex: none;
    fill: none;
    stroke: currentColor;
    stroke-width: 1.75;
    stroke-linecap: round;
    stroke-linejoin: round;
  }
  .plain {
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: 0.35rem;
    min-inline-size: 2rem;
    min-block-size: 2rem;
    padding: 0.25rem;
    border: 0;
    border-radius: 8px;
    background: none;
    color: var(--soft);
  }
  .plain:hover,
  .plain[aria-pressed="true"] {
    background: var(--wash);
    color: var(--ink);
  }
  .plain[aria-pressed="true"] {
    color: var(--accent);
  }
  .plain.small {
    min-inline-size: 1.75rem;
    min-block-size: 1.75rem;
    padding-inline: 0.4rem;
    font-size: 0.8125rem;
  }
  .plain.small .icon {
    inline-size: 1rem;
    block-size: 1rem;
  }
  .second {
    min-block-size: 2.25rem;
    padding: 0.3rem 0.9rem;
    border: 1px solid var(--edge);
    border-radius: 999px;
    background: var(--surface);
    font-weight: 500;
  }
  .second:hover {
    background: var(--wash);
  }
  .faint {
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .label {
    font-size: 0.8125rem;
    font-weight: 600;
    color: var(--soft);
  }
  .clip {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .badge {
    flex: none;
    padding: 0.05rem 0.5rem;
    border-radius: 999px;
    background: var(--tint);
    font-size: 0.75rem;
    font-weight: 600;
    color: var(--accent);
  }
  .probe {
    color: var(--wanted);
    background-color: var(--surface);
  }
  .unseen {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    margin: -1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`,o`
  .launcher {
    position: fixed;
    z-index: var(--citewell-z-index, 300);
    inset-block-end: max(1.25rem, env(safe-area-inset-bottom));
    inset-inline-end: 1.25rem;
    display: inline-flex;
    align-items: center;
    gap: 0.5rem;
    min-block-size: 3rem;
    padding-block: 0.6rem;
    padding-inline: 1rem 1.15rem;
    border: 1px solid transparent;
    border-radius: 999px;
    background: var(--accent);
    color: var(--on-accent);
    font-weight: 600;
    box-shadow: var(--shade);
  }
  .launcher:focus-visible {
    outline-offset: 3px;
  }
  :host([position="left"]) .launcher,
  :host([position="left"]) .panel[open] {
    inset-inline: auto;
    left: 1.25rem;
  }
  :host([position="right"]) .launcher,
  :host([position="right"]) .panel[open] {
    inset-inline: auto;
    right: 1.25rem;
  }

  .panel[open] {
    position: fixed;
    z-index: var(--citewell-z-index, 300);
    inset: auto;
    inset-block-end: 1.25rem;
    inset-inline-end: 1.25rem;
    display: flex;
    flex-direction: column;
    inline-size: min(var(--citewell-width, 27rem), calc(100vw - 2.5rem));
    block-size: min(var(--citewell-height, 44rem), calc(100dvh - 2.5rem));
    max-inline-size: none;
    max-block-size: none;
    margin: 0;
    padding: 0;
    overflow: hidden;
    border: 1px solid var(--line);
    border-radius: var(--round);
    background: var(--surface);
    color: var(--ink);
    box-shadow: var(--shade);
  }
  @media (max-width: 30rem), (max-height: 24rem) {
    :host(:not([position="inline"])) .panel[open] {
      overflow-y: auto;
      inset: 0;
      inline-size: 100%;
      block-size: 100dvh;
      border: 0;
      border-radius: 0;
    }
  }
  :host([position="inline"]) {
    display: block;
    block-size: 100%;
  }
  :host([position="inline"]) .root {
    block-size: 100%;
  }
  :host([position="inline"]) .panel[open] {
    position: static;
    inline-size: 100%;
    block-size: 100%;
    box-shadow: none;
  }
  :host([data-low]) .panel[open] {
    block-size: min(20rem, 45dvh);
  }
  .panel::backdrop {
    background: rgb(0 0 0 / 40%);
  }

  .about {
    position: fixed;
    z-index: var(--citewell-z-index, 300);
    inset-block-start: var(--y);
    /* Half of the longest label: the button stays on the screen, also at its edge. */
    left: clamp(7.5rem, var(--x), 100vw - 7.5rem);
    display: inline-flex;
    align-items: center;
    gap: 0.4rem;
    min-block-size: 2.25rem;
    padding-block: 0.25rem;
    padding-inline: 0.6rem 0.75rem;
    border: 1px solid var(--line);
    border-radius: 999px;
    background: var(--surface);
    font-size: 0.875rem;
    font-weight: 600;
    white-space: nowrap;
    box-shadow: var(--shade);
    transform: translateX(-50%);
  }
  .about .icon {
    inline-size: 1rem;
    block-size: 1rem;
    color: var(--accent);
  }
  .about kbd {
    font: 500 0.75rem var(--font);
    color: var(--soft);
  }
  @media (hover: none) {
    .about kbd {
      display: none;
    }
  }

  header {
    display: flex;
    flex: none;
    align-items: center;
    gap: 0.25rem;
    padding-block: 0.7rem;
    padding-inline: 1.25rem 0.75rem;
    border-block-end: 1px solid var(--line);
  }
  header h2 {
    flex: 1;
    min-inline-size: 0;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
    font-size: 1rem;
    font-weight: 650;
    line-height: 1.4;
    text-align: -webkit-match-parent;
    text-align: match-parent;
  }
  .thread {
    /* Holds what only screen readers see, which would make the page longer otherwise. */
    position: relative;
    flex: 1 0 8rem;
    min-block-size: 0;
    overflow-y: auto;
    overscroll-behavior: contain;
    padding: 1.25rem;
    scrollbar-width: thin;
  }
  .thread:focus-visible {
    outline-offset: -3px;
  }

  .composer {
    flex: none;
    padding: 0.5rem 0.9rem max(0.7rem, env(safe-area-inset-bottom));
  }
  .field {
    display: flex;
    align-items: flex-end;
    gap: 0.4rem;
    padding-block: 0.4rem;
    padding-inline: 0.9rem 0.4rem;
    border: 1px solid var(--edge);
    border-radius: 1.4rem;
    background: var(--surface);
  }
  .field:focus-within {
    border-color: var(--accent);
    box-shadow: 0 0 0 1px var(--accent);
  }
  .field textarea {
    flex: 1;
    min-inline-size: 0;
    max-block-size: 9rem;
    margin: 0;
    padding: 0.25rem 0;
    field-sizing: content;
    resize: none;
    border: 0;
    outline: 0;
    background: none;
  }
  ::placeholder {
    color: var(--soft);
    opacity: 1;
  }
  .send {
    display: grid;
    flex: none;
    place-items: center;
    inline-size: 2.1rem;
    block-size: 2.1rem;
    padding: 0;
    border: 1px solid transparent;
    border-radius: 50%;
    background: var(--accent);
    color: var(--on-accent);
  }
  .send[aria-disabled="true"] {
    background: var(--line);
    color: var(--soft);
    opacity: 1;
  }
  .under {
    display: flex;
    justify-content: space-between;
    gap: 1rem;
    padding-inline: 0.9rem;
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .under:has(.only),
  .under:has(.counter:not(:empty)) {
    margin-block-start: 0.4rem;
  }
  .only {
    display: inline-flex;
    align-items: center;
    gap: 0.4rem;
    min-inline-size: 0;
    min-block-size: 1.5rem;
  }
  .only input {
    flex: none;
    margin: 0;
    accent-color: var(--accent);
  }
  [aria-invalid="true"] ~ .counter,
  .composer:has([aria-invalid="true"]) .counter {
    color: var(--bad);
    font-weight: 600;
  }
  .chip {
    display: flex;
    align-items: start;
    gap: 0.5rem;
    margin-block-end: 0.5rem;
    padding-block: 0.4rem;
    padding-inline: 0.75rem 0.35rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    background: var(--wash);
    font-size: 0.8125rem;
  }
  .chip p {
    display: grid;
    flex: 1;
    gap: 0.15rem;
    justify-items: start;
    min-inline-size: 0;
  }
  .chip .clip {
    max-inline-size: 100%;
  }
  .chip .icon {
    inline-size: 1rem;
    block-size: 1rem;
  }
`,ka,o`
  .welcome {
    display: grid;
    gap: 0.75rem;
  }
  .welcome > p:first-child {
    margin-block-end: 0.75rem;
    font-size: 1.0625rem;
    line-height: 1.55;
    text-wrap: pretty;
  }
  .starters {
    display: grid;
    gap: 0.5rem;
    list-style: none;
  }
  .starters li + li {
    margin: 0;
  }
  .starters a {
    display: block;
    padding: 0.65rem 0.95rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    line-height: 1.45;
    color: inherit;
    text-decoration: none;
  }
  .starters a:hover {
    border-color: var(--accent);
    background: var(--tint);
  }

  .progress {
    display: flex;
    align-items: center;
    gap: 0.6rem;
    margin-block-start: 1rem;
    font-size: 0.875rem;
    color: var(--soft);
  }
  .dots {
    display: inline-flex;
    gap: 0.25rem;
  }
  .dots i {
    inline-size: 0.375rem;
    block-size: 0.375rem;
    border-radius: 50%;
    background: var(--accent);
    animation: breathe 1.2s ease-in-out infinite;
  }
  .dots i:nth-child(2) {
    animation-delay: 0.15s;
  }
  .dots i:nth-child(3) {
    animation-delay: 0.3s;
  }
  @keyframes breathe {
    50% {
      opacity: 0.25;
    }
  }

  .ending {
    display: grid;
    gap: 0.4rem;
    margin-block-start: 1rem;
    padding-block-start: 0.75rem;
    border-block-start: 1px solid var(--line);
  }
  summary {
    inline-size: fit-content;
    min-block-size: 1.5rem;
    cursor: pointer;
  }
  .sources {
    margin-block: 0.2rem 0.4rem;
    display: grid;
    gap: 0.2rem;
    list-style: none;
    font-size: 0.875rem;
    line-height: 1.45;
  }
  .sources li {
    display: flex;
    gap: 0.5rem;
    margin: 0;
    min-block-size: 1.5rem;
  }
  .sources .number {
    min-inline-size: 1rem;
    font-variant-numeric: tabular-nums;
    color: var(--soft);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.25rem 0.75rem;
  }
  .facts {
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .facts[data-doubt="true"] {
    color: var(--warn);
  }
  .actions {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 0.15rem;
    margin-inline-start: auto;
  }
  .thanks {
    text-align: end;
  }
  .actions .icon {
    inline-size: 1.1rem;
    block-size: 1.1rem;
  }
  .withheld {
    font-size: 0.8125rem;
    color: var(--soft);
  }
  .withheld ul {
    padding-block: 0.3rem;
    padding-inline-start: 1.2rem;
  }
  .feedback {
    display: grid;
    gap: 0.6rem;
    inline-size: 100%;
    margin-block-start: 0.4rem;
    padding: 0.8rem 1rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    font-size: 0.875rem;
  }
  .feedback legend {
    padding: 0;
    font-weight: 600;
  }
  .feedback label {
    display: flex;
    align-items: center;
    gap: 0.5rem;
    min-block-size: 1.9rem;
  }
  .feedback input {
    margin: 0;
    accent-color: var(--accent);
  }
  .feedback .comment {
    display: grid;
    gap: 0.25rem;
  }
  .feedback textarea {
    padding: 0.4rem 0.6rem;
    border: 1px solid var(--edge);
    border-radius: 8px;
    background: var(--surface);
    resize: vertical;
  }

  .refusal,
  .notice {
    display: grid;
    gap: 0.5rem;
    justify-items: start;
    margin-block-start: 1rem;
  }
  .notice {
    padding: 0.75rem 1rem 0.9rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    background: var(--wash);
    font-size: 0.875rem;
    overflow-wrap: anywhere;
  }
  .notice.problem {
    border-inline-start: 3px solid var(--warn);
  }
  .closest {
    padding: 0.65rem 0.95rem;
    border: 1px solid var(--line);
    border-radius: 12px;
    font-size: 0.875rem;
  }
  .closest p {
    color: var(--soft);
  }

  @media (prefers-reduced-motion: reduce) {
    *,
    *::before,
    *::after {
      animation: none !important;
      transition: none !important;
    }
  }
  @media print {
    :host {
      display: none !important;
    }
  }
  @media (forced-colors: active) {
    .mark,
    .launcher,
    .send,
    .badge,
    .asked {
      border: 1px solid currentColor;
    }
    .dots i {
      forced-color-adjust: none;
      background: CanvasText;
    }
  }
`],ja=4.5,Ma=400,Na=[`class`,`style`,`data-theme`,`data-color-mode`,`data-bs-theme`,`data-md-color-scheme`,`data-mode`];function Pa(e){let t=e.documentElement,n=t.dataset.theme??t.dataset.colorMode??``;if(n===`dark`||n===`light`)return n;for(let n of[e.body,t]){let e=Ia(getComputedStyle(n).backgroundColor);if(e)return La(e)<.4?`dark`:`light`}return getComputedStyle(t).colorScheme.includes(`dark`)&&matchMedia(`(prefers-color-scheme: dark)`).matches?`dark`:`light`}function Fa(e){let t=0,n=()=>{e(),clearTimeout(t),t=window.setTimeout(e,Ma)},r=new MutationObserver(n);for(let e of[document.documentElement,document.body])r.observe(e,{attributeFilter:Na});let i=matchMedia(`(prefers-color-scheme: dark)`);return i.addEventListener(`change`,n),()=>{r.disconnect(),i.removeEventListener(`change`,n),clearTimeout(t)}}function Ia(e){let t=/^(rgba?|color)\(\s*(srgb )?([\d.]+)[,\s]+([\d.]+)[,\s]+([\d.]+)(?:\s*[,/]\s*([\d.]+%?))?\s*\)$/.exec(e);if(!t)return null;let[,n,r,i,a,o,s=`1`]=t;if(parseFloat(s)<1||n===`color`&&!r)return null;let c=n===`color`?255:1;return[Number(i)*c,Number(a)*c,Number(o)*c]}function La([e,t,n]){let r=e=>{let t=e/255;return t<=.04045?t/12.92:((t+.055)/1.055)**2.4};return .2126*r(e)+.7152*r(t)+.0722*r(n)}function Ra(e,t){let[n=0,r=0]=[La(e),La(t)].toSorted((e,t)=>e-t);return(r+.05)/(n+.05)}function za(e,t){let n=t.some(e=>La(e)<.2)?[255,255,255]:[0,0,0];for(let r=0;r<1;r+=.05){let i=Ba(e,n,r);if(t.every(e=>Ra(i,e)>=ja))return i}return n}function Ba(e,t,n){let r=r=>e[r]+(t[r]-e[r])*n;return[r(0),r(1),r(2)]}function Va(e){return`rgb(${e.map(Math.round).join(` `)})`}function Ha(e){return Ra(e,[255,255,255])>=Ra(e,[0,0,0])?[255,255,255]:[0,0,0]}var Ua=`--citewell-accent-shown`,Wa=`--citewell-on-accent-shown`;function Ga(e){let t=e.getAttribute(`theme`);e.dataset.scheme=t===`light`||t===`dark`?t:Pa(document);let n=e.shadowRoot?.querySelector(`.probe`);if(!n)return;let{color:r,backgroundColor:i}=getComputedStyle(n),[a,o]=[Ia(r),Ia(i)];if(!a||!o){e.style.removeProperty(Ua),e.style.removeProperty(Wa);return}let s=za(a,[o,Ba(o,a,.12)]);e.style.setProperty(Ua,Va(s)),e.style.setProperty(Wa,Va(Ha(s)))}var Ka={},qa=He(class extends Ue{constructor(){super(...arguments),this.ot=Ka}render(e,t){return t()}update(e,[t,n]){if(Array.isArray(t)){if(Array.isArray(this.ot)&&this.ot.length===t.length&&t.every((e,t)=>e===this.ot[t]))return C}else if(this.ot===t)return C;return this.ot=Array.isArray(t)?Array.from(t):t,this.render(t,n)}}),Ja=12,Ya=24;function Xa(e,t,n=0){if(n>Ja)return x`<p>${e.raw}</p>`;switch(e.type){case`paragraph`:return eo(oo(e),t);case`text`:return e.tokens?eo(e.tokens,t):x`<p>${co(e.raw)}</p>`;case`heading`:return x`<p class="heading"><strong>${$(oo(e),t)}</strong></p>
        ${io(oo(e),t)}`;case`code`:return t.code(e.text,e.lang??``);case`math`:return t.math(e.tex,!0);case`table`:return ro(e,t);case`list`:return to(e,t,n);case`blockquote`:return x`<blockquote>${no(e.tokens??[],t,n+1)}</blockquote>`;case`hr`:return x`<hr />`;case`space`:case`def`:return w;case`plain`:return x`<p class="unread">${e.raw}</p>`;default:return x`<p>${e.raw.trim()}</p>`}}function $(e,t,n=0){let r=[],i=e=>n>Ja?e.raw:$a(e,t,n);for(let t=0;t<e.length;t+=1){let n=e[t],a=t+1;for(;e[a]?.type===`mark`;)a+=1;if(a===t+1){r.push(i(n));continue}let o=e.slice(t+1,a).map(i),[s,c]=Za(n);s&&r.push(s);let l=c===null?i(n):c;r.push(x`<span class=${Qa(n,c)?`bound`:w}>${l}${o}</span>`),t=a-1}return r}function Za(e){if(e.type!==`text`||`tokens`in e&&e.tokens)return[``,null];let t=co(e.raw),n=/\S*$/.exec(t)?.[0]??``;return[t.slice(0,t.length-n.length),n]}function Qa(e,t){return(t??e.raw).length<=Ya}function $a(e,t,n){let r=()=>$(oo(e),t,n+1);switch(e.type){case`mark`:{let{claim:n,number:r}=e;return t.mark(n,r)}case`math`:return t.math(e.tex,e.display);case`strong`:return x`<strong>${r()}</strong>`;case`em`:return x`<em>${r()}</em>`;case`del`:return x`<s>${r()}</s>`;case`codespan`:return x`<code>${e.text}</code>`;case`br`:return x`<br />`;case`reference`:return x`${r()}`;case`link`:{let n=Ca(e.href);return n?t.link(n,r()):x`${r()}`}case`image`:return e.text;case`text`:return e.tokens?x`${r()}`:co(e.raw);case`escape`:return e.text;default:return/^<br\s*\/?>$/i.test(e.raw)?x`<br />`:e.raw}}function eo(e,t){let n=1+e.findIndex(e=>ao(e,t)),r=n?e.slice(0,n):e,i=n?e.slice(n):[];return x`<p class=${e.every(e=>e.type===`mark`||!e.raw.trim())?`marks`:w}>${$(r,t)}</p>
    ${n?t.quote():io(e,t)}
    ${i.length?x`<p class="rest">${$(i,t)}</p>`:w}`}function to({ordered:e,start:t,items:n},r,i){let a=n.map(e=>x`<li>${e.task?x`<span aria-hidden="true">${e.checked?`☑`:`☐`}</span> `:w}${no(e.tokens,r,i+1,!e.loose)}</li>`);if(!e)return x`<ul>${a}</ul>`;let o=Number(t);return x`<ol start=${o>1&&o<1e6?o:w}>${a}</ol>`}function no(e,t,n,r=!1){return e.map(e=>!r||e.type!==`text`?Xa(e,t,n):x`${$(e.tokens??[],t)}${io(e.tokens??[],t)}`)}function ro({header:e,rows:t,align:n},r){let i=e=>n[e]??w,a=e.map((e,t)=>x`<th scope="col" data-align=${i(t)}>${$(e.tokens,r)}</th>`),o=t.map(e=>x`<tr>${e.map((e,t)=>x`<td data-align=${i(t)}>${$(e.tokens,r)}</td>`)}</tr>`),s=[e,...t].flat().flatMap(e=>e.tokens);return x`<div class="scroll" tabindex="0" role="group" aria-label=${r.tableLabel}>
      <table><thead><tr>${a}</tr></thead><tbody>${o}</tbody></table>
    </div>
    ${io(s,r)}`}function io(e,t){let n=e=>ao(e,t)||`tokens`in e&&!!e.tokens?.some(n);return e.some(n)?t.quote():w}function ao(e,t){if(e.type!==`mark`)return!1;let{claim:n,number:r}=e;return t.isOpen(n,r)}function oo(e){return`tokens`in e&&e.tokens||[]}var so={amp:`&`,lt:`<`,gt:`>`,quot:`"`,apos:`'`,nbsp:`\xA0`};function co(e){return e.replace(/&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,4});/gi,(e,t)=>{if(t[0]!==`#`)return so[t.toLowerCase()]??e;let n=t[1]?.toLowerCase()===`x`?parseInt(t.slice(2),16):Number(t.slice(1));return n>0&&n<=1114111?or(String.fromCodePoint(n)):e})}function lo(e,t){let{words:n}=e;return x`<div class="code">
    <div class="scroll" tabindex="0" role="group" aria-label=${n.code}><pre dir="ltr"><code>${or(t)}</code></pre></div>
    ${uo(e,n.copy,()=>t)}
  </div>`}function uo(e,t,n,r){let{words:i}=e;async function a(t){let r=t.currentTarget,a=await e.copy(n())?i.copied:i.notCopied;r.dataset.said=a,e.say(a),setTimeout(()=>delete r.dataset.said,2e3)}return x`<button type="button" class="plain copy" aria-label=${r??i.copy} @click=${a}>${t}</button>`}var fo=(e,t)=>{let n=e._$AN;if(n===void 0)return!1;for(let e of n)e._$AO?.(t,!1),fo(e,t);return!0},po=e=>{let t,n;do{if((t=e._$AM)===void 0)break;n=t._$AN,n.delete(e),e=t}while(n?.size===0)},mo=e=>{for(let t;t=e._$AM;e=t){let n=t._$AN;if(n===void 0)t._$AN=n=new Set;else if(n.has(e))break;n.add(e),_o(t)}};function ho(e){this._$AN===void 0?this._$AM=e:(po(this),this._$AM=e,mo(this))}function go(e,t=!1,n=0){let r=this._$AH,i=this._$AN;if(i!==void 0&&i.size!==0){if(t){if(Array.isArray(r))for(let e=n;e<r.length;e++)fo(r[e],!1),po(r[e]);else r!=null&&(fo(r,!1),po(r))}else fo(this,e)}}var _o=e=>{e.type==D.CHILD&&(e._$AP??=go,e._$AQ??=ho)},vo=class extends Ue{constructor(){super(...arguments),this._$AN=void 0}_$AT(e,t,n){super._$AT(e,t,n),mo(this),this.isConnected=e._$AU}_$AO(e,t=!0){e!==this.isConnected&&(this.isConnected=e,e?this.reconnected?.():this.disconnected?.()),t&&(fo(this,e),po(this))}setValue(e){if(Ke(this._$Ct))this._$Ct._$AI(e,this);else{let t=[...this._$Ct._$AH];t[this._$Ci]=e,this._$Ct._$AI(t,this,0)}}disconnected(){}reconnected(){}},yo=(function(){let e=typeof document<`u`&&document.createElement(`link`).relList;return e&&e.supports&&e.supports(`modulepreload`)?`modulepreload`:`preload`})(),bo=function(e){return`/`+e},xo={},So=function(e){return e.pathname.endsWith(`.css`)},Co=function(e,t,n){if(t in e)return e[t];let r=n();if(!r){e[t]=void 0;return}let i=r.then(()=>{e[t]=void 0},n=>{throw e[t]=void 0,n});return e[t]=i,i},wo=function(e,t,n){let r=Promise.resolve();if(t&&t.length>0){let e,i=document.querySelector(`meta[property=csp-nonce]`),a=i?.nonce||i?.getAttribute(`nonce`);function o(e){return Promise.all(e.map(e=>Promise.resolve(e).then(e=>({status:`fulfilled`,value:e}),e=>({status:`rejected`,reason:e}))))}function s(e){return import.meta.resolve?new URL(import.meta.resolve(e)):new URL(e,import.meta.url)}r=o(t.map(t=>{t=bo(t,n);let r=s(t),i=So(r);return Co(xo,r.href,()=>{if(e===void 0){e={all:new Set,styles:new Set};let t=document.getElementsByTagName(`link`);for(let n=t.length-1;n>=0;n--){let r=t[n];e.all.add(r.href),r.rel===`stylesheet`&&e.styles.add(r.href)}}if((i?e.styles:e.all).has(r.href))return;let t=document.createElement(`link`);if(t.rel=i?`stylesheet`:yo,i||(t.as=`script`),t.crossOrigin=``,t.href=r.href,a&&t.setAttribute(`nonce`,a),document.head.appendChild(t),i)return new Promise((e,n)=>{t.addEventListener(`load`,e),t.addEventListener(`error`,()=>n(Error(`Unable to preload CSS for ${r}`)))})})}).filter(e=>e!==void 0))}function i(e){let t=new Event(`vite:preloadError`,{cancelable:!0});if(t.payload=e,window.dispatchEvent(t),!t.defaultPrevented)throw e}return r.then(t=>{for(let e of t||[])e.status===`rejected`&&i(e.reason);return e().catch(i)})},To=null,Eo=null;function Do(){let e=new URL(`widget-math.js`,Gi).href;return Eo??=wo(()=>import(e).then(e=>{To=e.draw},()=>{Eo=null}),[]),Eo}var Oo=He(class extends vo{constructor(...e){super(...e),this.shown=null}render(e,t){let n=`${t} ${e}`;return this.shown?.key===n?this.shown.node:To?(this.shown={key:n,node:To(e,t)}).node:(Do().then(()=>{To&&this.isConnected&&this.setValue(this.render(e,t))}),e)}});function ko(e,t,n){return t?x`<span class="math display" dir="ltr" tabindex="0" role="group" aria-label=${n}>${Oo(e,!0)}</span>`:x`<span class="math" dir="ltr">${Oo(e,!1)}</span>`}var Ao={supported:ta,partly:na,unsupported:ra,contradicted:ra};function jo(e,t){let{quote:n}=e.chat,r=n?.turn===t.id?n:null;return qa([t.text,t.claims,r,e.words,location.pathname],()=>{let n=No(e,t);return $n(it(t.text,t.claims)).map(t=>qa([t.raw,Mo(t.raw,r),e.words,location.pathname],()=>Xa(t,n)))})}function Mo(e,t){return e.includes(`﷐`)?t:null}function No(e,t){let{chat:n,words:r}=e,i=(e,r)=>Ci(n.quote,{turn:t.id,claim:e,number:r});return{mark:(n,r)=>Po(e,t,n,r,i(n,r)),isOpen:i,quote:()=>n.quote?Fo(e,t,n.quote):w,code:t=>lo(e,t),math:(e,t)=>ko(e,t,r.formula),link:(t,n)=>Er(e,t,n),tableLabel:r.table}}function Po(e,t,n,r,i){let{words:a,chat:o,reveal:s}=e,c=()=>{o.toggleQuote({turn:t.id,claim:n,number:r}),s(`#${Uo(t,n,r)}`)},l=t.claims[n]?.verdict??`unsupported`,[u]=Bo(t.claims[n],r);if(!u&&r!==0)return x`<sup>${r}</sup>`;let d=l===`not_a_claim`?``:a[l],f=u?K(a.source,{number:r,place:q(u)}):d;return x`<button
      type="button"
      class="mark"
      id=${Ho(t.id,n,r)}
      part="mark"
      data-verdict=${l}
      aria-expanded=${i}
      aria-controls=${i?Uo(t,n,r):w}
      aria-label=${u?`${f}. ${d}`:f}
      @click=${c}
    >${r===0?`?`:r}</button>`}function Fo(e,t,n){let{words:r}=e,i=t.claims[n.claim],a=Bo(i,n.number),o=i?.verdict??`unsupported`;return x`<aside
    class="quote"
    part="quote"
    dir=${e.direction}
    data-verdict=${o}
    id=${Uo(t,n.claim,n.number)}
    aria-label=${a[0]?K(r.source,{number:n.number,place:q(a[0])}):r.unsupported}
  >
    <p class="verdict" data-verdict=${o}>
      ${o===`not_a_claim`?w:x`${Ao[o]}<span>${r[o]}</span>`}
      <button type="button" class="plain small" aria-label=${r.close} @click=${()=>Vo(e)}>${qi}</button>
    </p>
    ${a.map(t=>Io(e,t,i?.text??``))}
  </aside>`}function Io(e,t,n){let{words:r}=e,i=x`${r.goTo}${ia}`,a=e.hrefOf(t.url)?Or(e,t,i,`go`):w,o=[{text:``,heading:r.ofHeading,selection:r.ofSelection,own_text:r.ofSelection}[t.of],t.of===`own_text`?``:q(t)].filter(Boolean).join(` · `);return x`<blockquote dir="auto">${Lo(e,t.quote,zo(n))}</blockquote>
    <p class="where">
      <span>${o}</span>
      ${a}
    </p>`}function Lo(e,t,n){if(n&&!zo(t))return lo(e,t);let r={...No(e,Ro),mark:()=>w,isOpen:()=>!1};return $n(t).map(e=>Xa(e,r))}var Ro={id:``,claims:[]};function zo(e){return/^\s*(`{3,}|~{3,})/.test(e)}function Bo(e,t){return(e?.citations??[]).filter(e=>t===0||e.number===t)}function Vo({chat:e,focus:t}){let{quote:n}=e;n&&(e.set({quote:null}),t(`#${Ho(n.turn,n.claim,n.number)}`))}function Ho(e,t,n){return`mark-${e}-${t}-${n}`}function Uo(e,t,n){return`quote-${e.id}-${t}-${n}`}var Wo=He(class extends Ue{constructor(e){if(super(e),e.type!==D.PROPERTY&&e.type!==D.ATTRIBUTE&&e.type!==D.BOOLEAN_ATTRIBUTE)throw Error("The `live` directive is not allowed on child or event bindings");if(!Ke(e))throw Error("`live` bindings can only contain a single expression")}render(e){return e}update(e,[t]){if(t===C||t===w)return t;let n=e.element,r=e.name;if(e.type===D.PROPERTY){if(t===n[r])return C}else if(e.type===D.BOOLEAN_ATTRIBUTE){if(!!t===n.hasAttribute(r))return C}else if(e.type===D.ATTRIBUTE&&n.getAttribute(r)===t+``)return C;return Xe(e),t}}),Go=[`wrong`,`incomplete`,`off_topic`,`unclear`];function Ko(e,t){let{words:n,chat:r,reveal:i}=e,a=t.rating?.sent?t.rating.verdict:null,o=r.rating===t.id;return x`<button type="button" class="plain" aria-label=${n.helpful} aria-pressed=${a===`up`}
      @click=${()=>Yo(e,t,`up`)}>${Qi}</button>
    <button type="button" class="plain" id=${Xo(t)} aria-label=${n.notHelpful} aria-pressed=${a===`down`}
      aria-expanded=${o} @click=${()=>{r.set({rating:o?null:t.id}),i(`.feedback`)}}>${$i}</button>`}function qo({words:e},{rating:t}){return t?x`<p class="faint thanks">${t.sent?e.thanks:e.notRated}</p>`:w}function Jo(e,t){let{words:n,chat:r,focus:i}=e;if(r.rating!==t.id)return w;let a=()=>i(`#${Xo(t)}`);return x`<form class="feedback" part="feedback" @submit=${n=>{n.preventDefault();let r=new FormData(n.currentTarget);Yo(e,t,`down`,String(r.get(`reason`)??``),String(r.get(`comment`)??``)).then(a)}}>
    <fieldset>
      <legend>${n.whatWasWrong}</legend>
      ${Go.map(e=>x`<label><input type="radio" name="reason" value=${e} required />${n[e]}</label>`)}
    </fieldset>
    <label class="comment"><span>${n.comment}</span><textarea name="comment" rows="2" maxlength="1000"></textarea></label>
    <div class="row">
      <button type="submit" class="second">${n.sendFeedback}</button>
      <button type="button" class="plain small" @click=${()=>{r.set({rating:null}),a()}}>${n.cancel}</button>
    </div>
  </form>`}async function Yo({chat:e,words:t,say:n},r,i,a=``,o=``){n(await e.rate(r,i,a,o)?t.thanks:t.notRated)}function Xo({id:e}){return`down-${e}`}var Zo=4;function Qo(e,t){let{words:n}=e;return x`<footer class="ending">
    ${t.notices.map(e=>x`<p class="faint">${n[e]??e}</p>`)}
    ${t.refused?w:es(e,t)} ${ts(e,t)}
    <div class="row">
      ${$o(e,t)}
      ${ns(e,t)}
      <span class="actions">
        ${uo(e,Zi,()=>Cr(t,n.sources),n.copyAnswer)} ${Ko(e,t)}
      </span>
    </div>
    ${qo(e,t)} ${Jo(e,t)}
  </footer>`}function $o({words:e},t){let n=t.refused?``:Sr(t,e);return n?x`<p class="facts" data-doubt=${t.doubtful}>${t.doubtful?e.doubt:n}</p>`:w}function es(e,t){let n=xr(t);return n.length?x`<details class="cited" ?open=${n.length<=Zo}>
    <summary class="label">${e.words.sources} (${n.length})</summary>
    <ol class="sources" part="sources">
      ${n.map(t=>x`<li value=${t.number}>
            <span class="number" aria-hidden="true">${t.number}</span>
            ${Dr(e,t)}
          </li>`)}
    </ol>
  </details>`:w}function ts({words:e},{withheld:t}){return t.length?x`<details class="withheld">
    <summary>${t.length===1?e.withheldOne:K(e.withheldMany,{count:t.length})}</summary>
    <ul>
      ${t.map(e=>x`<li dir="auto">${dr(e)}</li>`)}
    </ul>
  </details>`:w}function ns({language:e},{answeredAt:t}){if(!t)return w;let n=new Date(t),r=n.toDateString()===new Date().toDateString(),i=new Intl.DateTimeFormat(e,r?{timeStyle:`short`}:{dateStyle:`short`,timeStyle:`short`});return x`<time class="faint" datetime=${t} title=${new Intl.DateTimeFormat(e,{dateStyle:`long`,timeStyle:`medium`}).format(n)}>${i.format(n)}</time>`}function rs(e,t){let{words:n}=e;return x`<article
    class="turn"
    part="turn"
    id=${`turn-${t.id}`}
    data-status=${t.refused?`refused`:t.status}
    aria-labelledby=${`asked-${t.id}`}
    aria-busy=${X(t)}
  >
    <div class="asked" part="question">
      <p id=${`asked-${t.id}`}><span class="unseen">${n.you}: </span><span dir="auto">${t.question}</span></p>
      ${is(e,t)}
    </div>
    ${t.status===`queued`?as(e,t):os(e,t)}
  </article>`}function is({words:e},t){return t.selection?x`<p class="scope">
      <span class="badge">${e.fromSelection}</span><span class="clip" dir="auto">“${t.selection}”</span>
    </p>`:t.chapter?x`<p class="scope">${K(e.inChapter,{chapter:t.chapter})}</p>`:w}function as({words:e,chat:t,focus:n},r){return x`<p class="progress">
    <span>${e.queued}</span>
    <button type="button" class="plain small" @click=${()=>{t.withdraw(r.id),n(J)}}>${e.remove}</button>
  </p>`}function os(e,t){return[t.refused||!t.text?w:x`<div class="answer" part="answer" dir="auto">${jo(e,t)}</div>`,ss(e,t)]}function ss(e,t){let{words:n}=e;switch(t.status){case`searching`:case`checking`:return x`<p class="progress"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>${t.reconnecting?n.reconnecting:n[t.status]}</p>`;case`failed`:return Pr(e,t);case`stopped`:return Nr(e,t);case`done`:return t.refused?[kr(e,t),Qo(e,t)]:Qo(e,t);case`queued`:return w}}function cs({words:e,chat:t,focus:n},r){return x`<div class="chip" part="selection">
    ${ea}
    <p>
      <span class="badge">${e.fromSelection}</span>
      <span class="unseen">${e.selected}: </span><span class="clip" dir="auto">${r}</span>
    </p>
    <button type="button" class="plain small" aria-label=${e.removeSelection} @click=${()=>{t.setDesk({selection:null}),n(J)}}>
      ${qi}
    </button>
  </div>`}var ls=40,us=6;function ds(e){let{chat:t,words:n,focus:r}=e,{draft:i,selection:a}=t.desk,o=wi(i.trim()),s=!!t.running;return x`<form class="composer" part="composer" @submit=${t=>fs(e,t)}>
    ${a?cs(e,a):w}
    <div class="field">
      <textarea
        id="question"
        part="input"
        rows=${hs(i)}
        dir=${i?`auto`:e.direction}
        placeholder=${n.placeholder}
        aria-label=${n.question}
        aria-describedby="counter"
        aria-invalid=${o>yi}
        autocomplete="off"
        .value=${Wo(i)}
        @input=${t=>ms(e,t)}
        @keydown=${t=>ps(e,t)}
      ></textarea>
      ${s?x`<button type="button" class="send" part="stop" aria-label=${n.stop} @click=${()=>{t.stop(),r(J)}}>${Xi}</button>`:w}
      ${s&&!o?w:x`<button type="submit" class="send" part="send" aria-label=${n.send}
            aria-disabled=${!o||o>2e3}>${Yi}</button>`}
    </div>
    <div class="under">
      ${_s(e)}
      <p id="counter" class="counter">${gs(e,o)}</p>
    </div>
  </form>`}function fs({chat:e,asked:t},n){n.preventDefault();let{draft:r}=e.desk;!r.trim()||wi(r.trim())>2e3||(e.setDesk({draft:``}),t(e.ask(r)))}function ps(e,t){t.key!==`Enter`||t.shiftKey||t.isComposing||fs(e,t)}function ms({chat:e},t){let n=t.currentTarget;e.setDesk({draft:n.value})}function hs(e){let t=e.split(`
`).map(e=>1+Math.floor(e.length/ls));return Math.min(us,t.reduce((e,t)=>e+t,0))}function gs({words:e},t){if(t<1800)return``;let n=K(e.counter,{count:t,limit:yi});return t>2e3?`${n}: ${K(e.tooLong,{over:t-yi})}`:n}function _s({chat:e,words:t}){let{place:n}=e;return!n||e.desk.selection?w:x`<label class="only">
    <input
      type="checkbox"
      .checked=${Wo(e.onlyChapter)}
      @change=${t=>e.set({onlyChapter:t.currentTarget.checked})}
    />
    <span class="clip">${K(t.onlyChapter,{chapter:n.chapter})}</span>
  </label>`}var vs=4;function ys(e){let{words:t}=e;return x`<div class="welcome" part="welcome">
    <p>${t.welcome}</p>
    ${bs(e)}
  </div>`}function bs(e){let{chat:t,words:n}=e;if(!t.contents||t.desk.selection)return w;let r=gi(t.contents,t.page??location.href,vs);return r.length?x`<p class="label" id="starters">${n.starters}</p>
    <ul class="starters" part="starters" aria-labelledby="starters">
      ${r.map(({title:t,url:n})=>x`<li>${Or(e,{url:n,chunk_id:``},t)}</li>`)}
    </ul>`:w}function xs(e,t){let{chat:n,words:r}=e,{turns:i}=n.conversation;return x`<header part="header">
      <h2 id="title" dir="auto">${t.close&&n.contents?.title||r.title}</h2>
      ${i.length?Ss(r.newConversation,Ji,t.clear):w}
      ${t.close?Ss(r.close,qi,t.close):w}
    </header>
    <div class="thread" part="thread" tabindex="0" role="region" aria-label=${r.conversation}>
      ${i.length?w:ys(e)}
      ${et(i,({id:e})=>e,t=>qa(Cs(e,t),()=>rs(e,t)))}
    </div>
    ${ds(e)}`}function Ss(e,t,n){return x`<button type="button" class="plain" title=${e} aria-label=${e} @click=${n}>${t}</button>`}function Cs({chat:e,words:t},n){let{quote:r,rating:i}=e;return[n,r?.turn===n.id?r:null,i===n.id,Fr(n.trouble),t,location.pathname]}var ws=new WeakMap,Ts=He(class extends vo{render(e){return w}update(e,[t]){let n=t!==this.G;return n&&this.rt(void 0),(n||this.lt!==this.ct)&&(this.G=t,this.ht=e.options?.host,this.rt(this.ct=e.element)),w}rt(e){if(this.G!==void 0){if(this.isConnected||(e=void 0),typeof this.G==`function`){let t=this.ht??globalThis,n=ws.get(t);n===void 0&&(n=new WeakMap,ws.set(t,n)),n.get(this.G)!==void 0&&this.G.call(this.ht,void 0),n.set(this.G,e),e!==void 0&&this.G.call(this.ht,e)}else this.G.value=e}}get lt(){return typeof this.G==`function`?ws.get(this.ht??globalThis)?.get(this.G):this.G?.value}disconnected(){this.lt===this.ct&&this.rt(void 0)}reconnected(){this.rt(this.ct)}});function Es(e,t,n){if(!e)return w;let r=t=>{let{style:n}=t;n.setProperty(`--x`,`${e.x}px`),n.setProperty(`--y`,`${e.y}px`)};return x`<button type="button" class="about" part="ask-about" aria-keyshortcuts="Control+I Meta+I"
    ${Ts(e=>e&&r(e))} @pointerdown=${e=>e.preventDefault()} @click=${n}>
    ${ea}<span>${t.askAbout}</span><kbd aria-hidden="true">${Ds()}</kbd>
  </button>`}function Ds(){return/Mac|iPhone|iPad/.test(navigator.platform)?`⌘I`:`Ctrl I`}var Os=`(max-width: 30rem), (max-height: 24rem)`,ks=1e3,As=[`server`,`key`,`book`,`words`],js=class extends Be{constructor(...e){super(...e),this.said={id:0,text:``},this.opener=null,this.selected=null,this.ends=[],this.seenAt=location.pathname,this.selection=new _a(this,e=>{this.selected=e?.text===this.chat.desk.selection?null:e,this.requestUpdate()}),this.reopen=()=>{this.renderRoot.querySelector(`dialog`)?.close(),this.requestUpdate()},this.onKey=e=>{!e.ctrlKey&&!e.metaKey||e.altKey||e.shiftKey||e.key.toLowerCase()!==`i`||(e.preventDefault(),this.selection.now()?this.takeSelection():this.chat.desk.open&&this.matches(`:focus-within`)?this.close():this.open())},this.onPanelKey=e=>{e.key!==`Escape`||e.isComposing||(e.preventDefault(),e.stopPropagation(),this.chat.quote?Vo(this.stage):this.close())}}static{this.properties={server:{},key:{},book:{},theme:{},position:{reflect:!0},language:{},page:{}}}static{this.styles=Aa}connectedCallback(){super.connectedCallback(),this.begin(),this.listen(document,`keydown`,this.onKey),this.listen(window,`pagehide`,()=>this.chat.leave()),this.listen(window,`pageshow`,e=>e.persisted&&this.chat.goOn()),this.listen(matchMedia(Os),`change`,this.reopen),this.listen(window,`online`,()=>this.chat.goOn());let{navigation:e}=window;e&&this.listen(e,`currententrychange`,()=>this.tick()),this.selection.start();let t=setInterval(()=>this.tick(),ks);this.ends.push(Fa(()=>Ga(this)),()=>clearInterval(t),()=>this.selection.stop()),this.updateComplete.then(()=>this.askFromAddress())}disconnectedCallback(){super.disconnectedCallback();for(let e of this.ends.splice(0))e();this.chat.leave()}open(){this.chat.desk.open||(this.opener=Ps()),this.chat.setDesk({open:!0}),this.focusOn(J)}close(){this.isInline||(this.chat.setDesk({open:!1}),this.chat.save(),this.opener?.isConnected?this.opener.focus():this.focusOn(`.launcher`))}ask(e,t=null){this.open(),wi(e.trim())>2e3?this.chat.setDesk({draft:e}):this.onAsked(this.chat.ask(e,t))}render(){let e=this.shown,{desk:t,words:n}=this.chat;return x`<div class="root" lang=${e} dir=${yr(e)}>
      <button type="button" class="launcher" part="launcher" aria-expanded="false" aria-haspopup="dialog"
        aria-keyshortcuts="Control+I Meta+I" ?hidden=${t.open} @click=${()=>this.open()}>
        ${Ki}<span>${n.open}</span>
      </button>
      ${Es(this.selected,n,()=>this.takeSelection())}
      <dialog class="panel" part="panel" aria-labelledby="title" @cancel=${Ms} @keydown=${this.onPanelKey}>
        ${t.open?xs(this.stage,this.frame):w}
      </dialog>
      <div class="unseen" role="log" aria-live="polite" aria-relevant="additions" aria-label=${n.answer}>
        ${et([this.said],({id:e})=>e,({text:e})=>x`<p>${e}</p>`)}
      </div>
      <i class="probe" hidden></i>
    </div>`}async scheduleUpdate(){this.hasUpdated&&!document.hidden&&await new Promise(requestAnimationFrame),await super.scheduleUpdate()}willUpdate(){let[e,t]=[this.chat.settings,this.settings];As.some(n=>e[n]!==t[n])&&(this.chat.leave(),this.begin()),this.chat.page=this.page??null}firstUpdated(){Ga(this),this.showDialog({restored:!0});let e=this.chat.conversation.turns.at(-1);e&&da(this.thread,`#turn-${e.id}`);let t=this.chat.cameTo();t&&Ea(t)===`here`&&this.showSentence(t)}updated(e){e.has(`theme`)&&Ga(this),this.showDialog({restored:!1})}showDialog({restored:e}){let t=this.renderRoot.querySelector(`dialog`),{open:n}=this.chat.desk;t&&n!==t.open&&(n?(matchMedia(Os).matches&&!this.isInline&&!e?t.showModal():t.setAttribute(`open`,``),this.chat.lookUpContents()):t.close())}begin(){let e=()=>this.requestUpdate();this.chat=new Si(this.settings,e,e=>this.onEnd(e)),(this.isInline||matchMedia(Os).matches)&&(this.chat.desk.open=this.isInline),this.chat.goOn(),this.chat.desk.open&&this.chat.lookUpContents()}get settings(){return{server:(this.server?new URL(this.server,location.href):new URL(`./`,Gi)).href.replace(/\/*$/,`/`),key:this.key??``,book:this.book??null,words:_r(this.shown)}}get stage(){return{chat:this.chat,words:this.chat.words,language:this.shown,direction:yr(this.shown),whereIs:Ea,hrefOf:Da,goTo:(e,t)=>this.goTo(e,t),copy:Ti,say:e=>this.say(e),reveal:e=>this.reveal(e),focus:e=>this.focusOn(e),asked:e=>this.onAsked(e)}}get frame(){return{clear:()=>this.clear(),close:this.isInline?null:()=>this.close()}}goTo(e,t){let n=new CustomEvent(`citewell-open`,{detail:t,bubbles:!0,composed:!0,cancelable:!0});if(!this.dispatchEvent(n)){e.preventDefault();return}let r=Ea(t.url),i=Da(t.url);i&&(r===`site`&&Ns(e)&&this.chat.goTo(i),r===`here`&&(e.preventDefault(),this.renderRoot.querySelector(`dialog:modal`)!==null&&this.close(),this.updateComplete.then(()=>this.showSentence(i))))}showSentence(e){let t=Ii(e);t&&!this.isInline&&ca(this,this.renderRoot.querySelector(`dialog[open]`),t)}clear(){this.chat.clear(),this.say(this.chat.words.cleared),this.focusOn(J)}takeSelection(){let e=this.selection.now()??this.selected;e&&this.chat.setDesk({selection:e.text}),this.selected=null,this.open()}say(e){this.said={id:this.said.id+1,text:e},this.requestUpdate()}onAsked(e){if(!e)return;this.say(e.status===`queued`&&this.chat.running?this.chat.words.queued:this.chat.words.searching);let t=`#turn-${e.id}`;this.chat.running?.id===e.id?this.updateComplete.then(()=>da(this.thread,t)):this.reveal(t)}reveal(e){this.updateComplete.then(()=>fa(this.thread,e))}onEnd(e){this.say(Rr(e,this.chat.words)),this.dispatchEvent(new CustomEvent(`citewell-answer`,{detail:e,bubbles:!0,composed:!0}))}askFromAddress(){let e=new URL(location.href),t=e.searchParams.get(`ask`)?.trim();t&&(e.searchParams.delete(`ask`),history.replaceState(history.state,``,e),this.ask(t))}tick(){let e=this.seenAt!==location.pathname;this.seenAt=location.pathname;let t=this.chat.conversation.turns.some(({trouble:e})=>Fr(e,ks)>0);(e||t)&&this.requestUpdate()}listen(e,t,n){e.addEventListener(t,n),this.ends.push(()=>e.removeEventListener(t,n))}get thread(){return this.renderRoot.querySelector(`.thread`)}get isInline(){return this.position===`inline`}get shown(){return vr(this.language??(document.documentElement.lang||navigator.language))}focusOn(e){let t=()=>this.renderRoot.querySelector(e)?.focus();t(),this.updateComplete.then(t)}};function Ms(e){e.preventDefault()}function Ns(e){return e instanceof MouseEvent&&!e.ctrlKey&&!e.metaKey&&!e.shiftKey&&e.button===0}function Ps(){let e=document.activeElement;return e instanceof HTMLElement&&e!==document.body&&!e.shadowRoot?e:null}var Fs=[`server`,`key`,`book`,`theme`,`position`,`language`,`page`];function Is(e,t){if(document.querySelector(t)||e.dataset.auto===`off`)return;let n=document.createElement(t);for(let t of Fs){let r=e.dataset[t];r!==void 0&&n.setAttribute(t,r)}document.body.append(n)}function Ls(e){return[...document.querySelectorAll(`script[type=module][src]`)].find(({src:t})=>t===e)??null}var Rs=`citewell-chat`;if(!customElements.get(Rs)){customElements.define(Rs,js);let e=Ls(Gi);e&&Is(e,Rs)}export{Ii as goToSentence};